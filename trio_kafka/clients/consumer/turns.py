"""Turns of the task that reads: rebalances, errors and wake-ups, between two reads.

One task at a time reads. All that changes which partitions are read happens in that task, so that
no record is being processed then.
"""

from typing import TYPE_CHECKING, Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.fetcher import Fetcher
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.reading import RecordReader
from trio_kafka.clients.errors import ClosedError, Place, TimedOutError
from trio_kafka.model import TopicPartition

if TYPE_CHECKING:  # imported with the first consumer that has a group
    from trio_kafka.clients.consumer.groups.group import ConsumerGroup

K = TypeVar("K")
V = TypeVar("V")


@define(eq=False, kw_only=True)
class ReadTurns(Generic[K, V]):
    """State of the reading task. group: None: without `group.id`.

    is_busy: True during a read, or while a task for each partition reads.
    changed: set when there is something to read.
    """

    positions: Positions
    fetcher: Fetcher
    reader: RecordReader[K, V]
    group: "ConsumerGroup | None" = None
    is_closed: bool = field(default=False, init=False)
    is_busy: bool = field(default=False, init=False)
    changed: trio.Event = field(factory=trio.Event, init=False)
    _moved: trio.Event = field(factory=trio.Event, init=False)

    def begin(self) -> None:
        """Begin a read. Raises ClosedError; RuntimeError if another task reads."""
        self.check_open()
        if self.is_busy:
            raise RuntimeError("another task reads from this consumer")
        self.is_busy = True
        if self.group is not None:
            self.group.came_in()

    def end(self) -> None:
        """End a read."""
        self.is_busy = False
        if self.group is not None:
            self.group.came_back()

    @property
    def is_due(self) -> bool:
        """True if `take` has something to do."""
        group = self.group
        needs_turn = group is not None and group.needs_turn
        return needs_turn or self.is_closed or bool(self.positions.errors)

    async def take(self) -> None:
        """Take part in a rebalance, and raise the first error that was kept for the user."""
        await self.take_group_turn()
        if self.positions.errors:
            at = next(iter(self.positions.errors))
            raise self.positions.errors.pop(at)

    async def take_group_turn(self) -> None:
        """Take part in a rebalance."""
        self.check_open()
        if self.group is not None and self.group.needs_turn:
            self.reader.flush()
            await self.group.turn()

    def take_error(self, state: PartitionState) -> None:
        """Raise the error that was kept for a partition, if any."""
        if error := self.positions.errors.pop(state.at, None):
            raise error

    @property
    def next_turn(self) -> float:
        """Time at which the reading task must do something even without a record."""
        return float("inf") if self.group is None else self.group.next_commit

    def relieve(self) -> None:
        """Make room for partitions that can be read."""
        self.fetcher.relieve(_is_awaited)

    def wake(self) -> None:
        """Wake the reading task, and those that wait for a position."""
        self.changed.set()
        self._moved.set()
        self._moved = trio.Event()

    def touch(self) -> None:
        """Look again at what is to be fetched and read."""
        self.fetcher.wake()
        self.wake()

    def close(self) -> None:
        """Read no more: a read that waits raises ClosedError."""
        self.is_closed = True
        self.wake()

    def check_open(self) -> None:
        """Raise ClosedError after `close`."""
        if self.is_closed:
            raise ClosedError("the consumer is closed")

    async def wait_position(self, at: TopicPartition, timeout_s: float) -> int:
        """Return the offset of the next record. Raises TimedOutError, and the partition's error."""
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(timeout_s):
            while True:
                waits = self._moved
                state = self.positions[at]
                if state.position is not None:
                    return state.position.offset
                self.take_error(state)
                await waits.wait()
        reason = f"no position within {timeout_s:g} s"
        raise TimedOutError(reason, place=Place(topic=at.topic, partition=at.partition))


def _is_awaited(state: PartitionState) -> bool:
    return state.is_fetchable
