"""A broker with three directories, and a shell for it."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.kit import Shell
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


@pytest.fixture(scope="module")
def module_kafka() -> Iterator[Kafka]:
    with running_broker({"log.dirs": "/one,/two,/three"}) as kafka:
        yield kafka


class Disks:
    """Where the replicas of the broker are."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell

    def new_topic(self, name: str, *, megabytes: int = 0) -> tuple[str, str]:
        """Create a topic of one partition; return its directory, and another one."""
        self.shell.kafka.create_topic(name)
        for _ in range(megabytes * 2):
            self.shell.kafka.produce(name, b"x" * 500_000)
        (here,) = self.paths(name)
        return here, "/two" if here == "/one" else "/one"

    def paths(self, topic: str) -> list[str]:
        """Return the directories of a topic, that of a future replica last."""
        rows = json.loads(self.shell.run("partition", "list", topic, "--json"))["replicas"]
        return [row["directory"] for row in rows]

    def done(self, *words: str) -> str:
        """Return what a command prints that succeeds, perhaps with progress beside it."""
        status, output, errors = self.shell.result(*words)
        assert status == 0, errors
        return output.decode()

    def limit(self, rate: int) -> None:
        """Limit moves to bytes a second."""
        self.shell.run("config", "set", "brokers", "default", f"{RATE}={rate}")


@pytest.fixture
def disks(shell: Shell) -> Iterator[Disks]:
    yield Disks(shell)
    shell.run("config", "set", "brokers", "default", f"{RATE}={1 << 40}")
