"""Verifiable clients as processes, ours or Kafka's own, and what they have said so far.

The views are those of Kafka's system tests (kafkatest.services.verifiable_consumer): the assignment
of each member, positions, commits, and numbers of rebalances.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.clients.build import APACHE_KAFKA, class_path
from trio_kafka.model import TopicPartition

OURS: Final = "trio-kafka"
JAVA: Final = "java"
TIMEOUT_S: Final = 60.0
_CLASSES: Final = {"producer": "VerifiableProducer", "consumer": "VerifiableConsumer"}
Event = dict[str, Any]


def command(kind: str, role: str) -> list[str]:
    """Return the command of a verifiable client without its options."""
    if kind == OURS:
        return [sys.executable, "-m", f"trio_kafka.clients.verifiable.{role}"]
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dlog.level=ERROR"]
    log = f"-Dlog4j2.configurationFile={APACHE_KAFKA / 'log4j2.yaml'}"
    name = f"org.apache.kafka.tools.{_CLASSES[role]}"
    return ["java", *options, log, "-cp", class_path("tools"), name]


class Program:
    """One process and its events. All share one condition: what a test awaits may be of several."""

    _changed = threading.Condition()

    def __init__(self, kind: str, role: str, options: Sequence[str], log: Path) -> None:
        self.events: list[Event] = []
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [*command(kind, role), *options],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.startswith(b"{"):  # Java's clients also warn on stdout
                continue
            event = json.loads(line)
            with self._changed:
                self.events.append(event)
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def wait_until(
        self, holds: Callable[[], bool], description: str, timeout_s: float = TIMEOUT_S
    ) -> None:
        """Wait until a condition holds; it is looked at after each event of any process."""
        with self._changed:
            assert self._changed.wait_for(holds, timeout_s), f"{description}: {self.events[-5:]}"

    def all(self, name: str) -> list[Event]:
        """Return the events of a name."""
        return [event for event in list(self.events) if event["name"] == name]

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def end(self, *, is_clean: bool = True) -> None:
        """End it by a signal, and wait until all of its events are read."""
        self.process.send_signal(signal.SIGTERM if is_clean else signal.SIGKILL)
        self.join()

    def join(self) -> None:
        """Wait for its end."""
        self.process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)


class Member:
    """A member of a group, through all of its lives. start: begins a life with some options.

    options: of the next life.
    """

    def __init__(self, start: Callable[[Sequence[str]], Program], options: Sequence[str]) -> None:
        self._start = start
        self.options = options
        self.lives: list[Program] = []

    @property
    def now(self) -> Program:
        return self.lives[-1]

    def begin(self) -> None:
        self.lives.append(self._start(self.options))

    def events(self, name: str) -> list[Event]:
        return [event for life in self.lives for event in life.all(name)]

    @property
    def assignment(self) -> set[TopicPartition]:
        """Partitions of the present life."""
        owned: set[TopicPartition] = set()
        for event in list(self.now.events):
            if event["name"] == "partitions_assigned":
                owned |= places(event)
            elif event["name"] == "partitions_revoked":
                owned -= places(event)
        return set() if self.now.has_ended else owned

    @property
    def rebalances(self) -> int:
        """Number of assignments in the present life."""
        return len(self.now.all("partitions_assigned"))


class Group:
    """All members of a group, and what they have read and committed together."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = members

    def consumed(self) -> Counter[TopicPartition]:
        """Return how many records were read of each partition, again ones too."""
        counts: Counter[TopicPartition] = Counter()
        for row in self._rows("records_consumed", "partitions"):
            counts[place(row)] += row["count"]
        return counts

    def positions(self) -> dict[TopicPartition, int]:
        """Return the offsets behind the last records that were read."""
        ends: dict[TopicPartition, int] = {}
        for row in self._rows("records_consumed", "partitions"):
            ends[place(row)] = max(ends.get(place(row), 0), row["maxOffset"] + 1)
        return ends

    def commits(self) -> dict[TopicPartition, int]:
        """Return the last offsets whose commits succeeded."""
        ends: dict[TopicPartition, int] = {}
        for member in self.members:
            for event in member.events("offsets_committed"):
                for row in event["offsets"] if event["success"] else []:
                    ends[place(row)] = max(ends.get(place(row), 0), row["offset"])
        return ends

    def total(self) -> int:
        """Return how many records were read."""
        return sum(self.consumed().values())

    def wait_shared(self, partitions: set[TopicPartition]) -> None:
        """Wait until the living members share partitions: each has some, none is shared."""
        for member in self.members:
            if member.now.has_ended:
                continue
            member.now.wait_until(lambda: self._is_shared(partitions), "the group is not balanced")

    def _is_shared(self, partitions: set[TopicPartition]) -> bool:
        shares = [member.assignment for member in self.members if not member.now.has_ended]
        is_whole = sum(map(len, shares)) == len(partitions) and set().union(*shares) == partitions
        return is_whole and all(shares)

    def _rows(self, name: str, key: str) -> Iterator[Event]:
        for member in self.members:
            for event in member.events(name):
                yield from event[key]


def place(row: Event) -> TopicPartition:
    return TopicPartition(row["topic"], row["partition"])


def places(event: Event) -> set[TopicPartition]:
    return {place(row) for row in event["partitions"]}


@contextmanager
def ending(programs: list[Program]) -> Iterator[None]:
    """Kill what still runs at the end of the block: only these processes."""
    try:
        yield
    finally:
        for program in programs:
            if not program.has_ended:
                program.process.kill()
            program.join()
            assert program.process.stdout is not None
            program.process.stdout.close()
