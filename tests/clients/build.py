"""Programs in other languages, built once into the user's cache directory.

    TRIO_KAFKA_CLIENTS   where; by default trio-kafka-clients in the user's cache directory

What is built is known by a hash of its sources and its lock: another program has another place. Two
builds at once wait for one another; one that was cut short has no mark and is done again.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from fcntl import LOCK_EX, flock
from pathlib import Path

SOURCES = Path(__file__).parent
APACHE_KAFKA = SOURCES.parent / "benchmarks" / "apache_kafka"
BUILD_TIMEOUT_S = 600
PACKAGES = {
    "java": "openjdk-17-jdk-headless",
    "javac": "openjdk-17-jdk-headless",
    "mvn": "maven",
    "flock": "util-linux",
    "go": "golang-go",
    "node": "nodejs",
    "npm": "npm",
    "kcat": "kcat",
    "tmux": "tmux",
}


class MissingError(Exception):
    """A program that a client needs is not on this machine; says how to get it."""


def need(*programs: str) -> None:
    """MissingError unless all of them are on the path."""
    for program in programs:
        if shutil.which(program) is None:
            package = PACKAGES[program]
            raise MissingError(f"{program} is not installed: apt-get install {package}")


def user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def clients_cache() -> Path:
    return Path(os.environ.get("TRIO_KAFKA_CLIENTS") or user_cache() / "trio-kafka-clients")


def jar_directory(jars: str) -> Path:
    """Where the script that fetches Apache Kafka's jars has the set of that name."""
    home = Path(os.environ.get("TRIO_KAFKA_CACHE") or user_cache() / "trio-kafka")
    return home / "apache-kafka" / jars


def class_path(jars: str) -> str:
    """The class path of a set of Apache Kafka's jars, which come with Maven at the first run."""
    need("java", "mvn", "flock")
    run([APACHE_KAFKA / "fetch.sh", jars], APACHE_KAFKA)
    return str(jar_directory(jars) / "*")


def run(command: Sequence[str | Path], directory: Path) -> None:
    """RuntimeError with what it printed, if it failed."""
    done = subprocess.run(
        command,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")


def built(
    name: str, build: Callable[[Path], None], *also: Path, within: Path | None = None
) -> Path:
    """The directory with a copy of the client's sources and what `build` has made there.

    also: files outside the client's directory on which the build depends. within: directory that
    holds the directory `name`.
    """
    sources = sorted(path for path in ((within or SOURCES) / name).iterdir() if path.is_file())
    digest = hashlib.sha256()
    for path in (*sources, *also):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    home = clients_cache() / f"{name}-{digest.hexdigest()[:16]}"
    mark = home / ".complete"
    if mark.exists():
        return home
    clients_cache().mkdir(parents=True, exist_ok=True)
    with (clients_cache() / f"{name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not mark.exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            for path in sources:
                shutil.copy(path, home)
            build(home)
            mark.touch()
    return home
