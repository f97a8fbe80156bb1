"""Programs of one class over Apache Kafka's jars: each line of input is answered by a line."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.clients.build import APACHE_KAFKA, built, class_path, need, run

TIMEOUT_S: Final = 300


def answers(place: Path, questions: Iterable[str], *arguments: str) -> list[str]:
    """Return the answers of the program in the directory `place`, a line each.

    arguments: of the program.

    Raises MissingError if Java or Maven is not there.
    """
    need("javac")
    (source,) = place.glob("*.java")
    jars = class_path("broker")
    home = built(
        place.name,
        lambda copy: run(["javac", "-cp", jars, "-d", "classes", copy / source.name], copy),
        APACHE_KAFKA / "pom.xml",
        within=place.parent,
    )
    logging = f"-Dlog4j2.configurationFile={APACHE_KAFKA / 'log4j2.yaml'}"
    path = f"{home / 'classes'}{os.pathsep}{jars}"
    done = subprocess.run(
        [
            "java",
            "-XX:+UseSerialGC",
            logging,
            "-Dlog.level=OFF",
            "-cp",
            path,
            source.stem,
            *arguments,
        ],
        input="".join(f"{question}\n" for question in questions),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return done.stdout.split("\n")[:-1]
