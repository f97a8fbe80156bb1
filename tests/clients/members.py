"""Members of one group, each a program of its own: they come, go and die, and nothing is lost.

A member writes down what it has read, then commits it. So whoever dies has at most read what
another member reads again, and what stands in the files of all members is all that was produced.
"""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import monotonic, monotonic_ns
from typing import Final, Self
from uuid import uuid4

from attrs import define, field

from tests.clients.catalogue import Client
from tests.clients.driver import Driver, running
from tests.clients.records import Row, rows

SESSION_MS: Final = 6000  # shorter ones end while a busy machine holds a JVM up
PROCESSED_S: Final = (
    240.0  # a busy machine; who is killed keeps its partitions until its session ends
)
_LOOK_S: Final = 0.2


@define
class Member:
    """One program that is in the group. file: what it has processed.

    killed_ns: by the machine's monotonic clock, once it is gone.
    """

    driver: Driver
    file: Path
    until: Path
    killed_ns: int | None = None

    def leave(self) -> int:
        """It commits, leaves the group and ends; how many records it has processed."""
        self.until.touch()
        count: int = self.driver.finish("subscribe")
        return count

    def kill(self) -> None:
        """It is gone without a word."""
        self.driver.process.send_signal(signal.SIGKILL)
        self.driver.process.wait()
        self.killed_ns = monotonic_ns()

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """When it has had which partitions: partition, begin, end; up to now if it has it still.

        AssertionError where it has lost partitions, which no rebalance had asked it for.
        """
        now = self.killed_ns or monotonic_ns()
        begins: dict[int, int] = {}
        for event, at_ns, partitions in whole_rows(self.file.with_suffix(".owned")):
            assert event != "lost" or not begins, f"{self.file}: lost {partitions}"
            for partition in partitions:
                if event == "assigned":
                    begins.setdefault(partition, at_ns)
                elif partition in begins:
                    yield partition, begins.pop(partition), at_ns
        for partition, begin in begins.items():
            yield partition, begin, now


@define
class Group:
    """Members of one group that read one topic, or all that match the expression `topic`.

    assignor: by its name in the classic protocol, of clients that know several.
    """

    bootstrap: str
    topic: str
    directory: Path
    protocol: str = "classic"
    expression: bool = False
    assignor: str = "range"
    name: str = field(factory=lambda: f"group-{uuid4().hex[:12]}")
    _members: list[Member] = field(factory=list)
    _stack: ExitStack = field(factory=ExitStack)

    def add(self, client: Client) -> Member:
        """Another member. Raises MissingError where the client cannot be built."""
        name = f"{client.name}-{len(self._members)}"
        place = self.directory / f"{self.name}-{name}"
        log = place.with_suffix(".log")
        driver = self._stack.enter_context(running(name, client.command(), log))
        member = Member(driver, place.with_suffix(".jsonl"), place.with_suffix(".until"))
        member.file.touch()
        driver.begin(
            "subscribe",
            bootstrap=self.bootstrap,
            topic=self.topic,
            group=self.name,
            file=str(member.file),
            until=str(member.until),
            protocol=self.protocol,
            expression=self.expression,
            session_ms=SESSION_MS,
            assignor=self.assignor,
        )
        self._members.append(member)
        return member

    def processed(self) -> dict[tuple[int, int], Row]:
        """Rows that the members have written, by partition and offset. AssertionError where two
        have read different records there.
        """
        result: dict[tuple[int, int], Row] = {}
        for member in self._members:
            for partition, offset, *row in whole_rows(member.file):
                assert result.setdefault((partition, offset), row) == row
        return result

    def values(self) -> set[str | None]:
        """Values that the members have written, of several topics whose values differ."""
        return {row[4] for member in self._members for row in whole_rows(member.file)}

    def spans(self) -> list[tuple[int, int, int, str]]:
        """When which member has had which partition: partition, begin, end, file; sorted."""
        return sorted(
            (*span, str(member.file))
            for member in self._members
            if member.file.with_suffix(".owned").exists()
            for span in member.spans()
        )

    def wait_processed(self, count: int) -> None:
        """Until that many different records are processed. AssertionError where it takes long."""
        self._wait(lambda: len(self.processed()), count)

    def wait_values(self, count: int) -> None:
        """The same for different values."""
        self._wait(lambda: len(self.values()), count)

    def _wait(self, count_found: Callable[[], int], count: int) -> None:
        end = monotonic() + PROCESSED_S
        while (result := count_found()) < count:
            for member in self._members:
                status = member.driver.process.poll()
                assert status in (None, -signal.SIGKILL), f"{member.driver.log}: ended: {status}"
            assert monotonic() < end, f"{result} of {count} records after {PROCESSED_S} s"
            Event().wait(_LOOK_S)

    def close(self) -> None:
        """Those that are still there leave, and end soon; nobody asks what they have processed."""
        for member in self._members:
            member.until.touch()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def whole_rows(file: Path) -> Iterator[Row]:
    """All but a last line that is still being written, or never was to its end."""
    for line in file.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            yield json.loads(line)


def check_owners(group: Group) -> int:
    """AssertionError if two members had a partition at the same time; the number of spans.

    Both protocols promise it: a member has a partition only after the one before has given it up
    in its hook, or was removed.
    """
    spans = group.spans()
    for before, after in pairwise(spans):
        if before[0] == after[0]:
            assert before[2] <= after[1], f"both have the partition: {before}, {after}"
    return len(spans)


def check_processed(group: Group, written: Path) -> None:
    """AssertionError unless all that was written was processed, and nothing else."""
    result, offsets = group.processed(), dict[int, int]()
    for partition, _, *row in rows(written):
        offset = offsets.get(partition, 0)
        offsets[partition] = offset + 1
        processed = result.pop((partition, offset), None)
        assert processed is not None, f"{partition}@{offset} was never processed"
        assert processed[1:] == row, (
            f"{partition}@{offset}: {processed} was processed, {row} written"
        )
    assert not result, f"processed, but not written: {sorted(result)[:9]}"
