"""`trio-kafka pipeline init`: a declarative pipeline that reads a topic, to be changed."""

import re
import sys
from argparse import ArgumentParser
from json import dumps
from pathlib import Path
from typing import Final

from trio_kafka.cli.output import declare_json, print_json
from trio_kafka_spark.pipeline.template import FILES

FAILED: Final = 1
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")


def declare(parser: ArgumentParser) -> None:
    """Declare the arguments of `init`."""
    parser.add_argument("name", metavar="NAME", help="name of the pipeline: a-z, 0-9, _ and -")
    parser.add_argument("--topic", default="events", help="the topic to read (default: events)")
    parser.add_argument("--directory", help="target directory (default: a new one with this name)")
    declare_json(parser, "one JSON object: `name`, `files`")


def init(*, name: str, topic: str, directory: str | None, json: bool) -> int:
    """Write a declarative pipeline: a specification, two tables, and a definition for the broker.

    Nothing that exists is overwritten.
    """
    if not _NAME.fullmatch(name):
        return _fail(f"{name!r} is not a pipeline name: use a-z, 0-9, _ and -, with a letter first")
    if not _TOPIC.fullmatch(topic):
        return _fail(
            f"{topic!r} is not a topic name: use at most 249 letters, digits, dots, _ and -"
        )
    target = Path(directory or name)
    try:
        written = write(target, name, topic)
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}")
    if json:
        print_json({"name": name, "files": [str(path) for path in written]})
        return 0
    for path in written:
        print(path)
    print(f"\nNext: trio-kafka pipeline run {target}")
    return 0


def write(target: Path, name: str, topic: str) -> list[Path]:
    """Write the files. Raises OSError; FileExistsError before anything is written."""
    for path in FILES:
        if (target / path).exists():
            raise FileExistsError(17, "exists already", str(target / path))
    storage = (target / "pipeline-storage").resolve()
    storage.mkdir(parents=True, exist_ok=True)
    words = {
        # As JSON, and so as YAML and TOML have a text.
        '"@DIRECTORY@"': dumps(str(target.resolve())),
        "@STORAGE@": dumps(storage.as_uri()),
        "@NAME@": name,
        "@TOPIC@": topic,
    }
    written = []
    for path, text in FILES.items():
        for word, value in words.items():
            text = text.replace(word, value)  # noqa: PLW2901
        place = target / path
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
        written.append(place)
    return written


def _fail(reason: str) -> int:
    print(f"trio-kafka: {reason}", file=sys.stderr)
    return FAILED
