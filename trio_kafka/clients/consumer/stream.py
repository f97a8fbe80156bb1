"""Stream of one partition, read by a task of its own."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Protocol, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.turns import ReadTurns
from trio_kafka.clients.consumer.values import ConsumerRecord, OffsetAndMetadata, Position
from trio_kafka.model import TopicPartition

K = TypeVar("K")
V = TypeVar("V")


class OffsetCommit(Protocol):
    """Commit of a consumer, see `Consumer.commit`."""

    def __call__(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Awaitable[None]: ...


@define(eq=False, kw_only=True)
class PartitionStream(Generic[K, V]):
    """Records of one partition, `async for records in stream`; each time a list of some.

    Who asks for the next records has processed those before: `processed` moves. is_waiting: its
    task waits for records. note_busy: called with the stream when its task processes or waits.
    """

    state: PartitionState
    turns: ReadTurns[K, V]
    _commit: OffsetCommit
    note_busy: Callable[["PartitionStream[K, V]", bool], None]
    processed: Position | None = field(default=None, init=False)
    is_waiting: bool = field(default=False, init=False)
    scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    ended: trio.Event = field(factory=trio.Event, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)
    _has_records: bool = field(default=False, init=False)

    @property
    def at(self) -> TopicPartition:
        """The partition."""
        return self.state.at

    def __aiter__(self) -> "PartitionStream[K, V]":
        return self

    async def __anext__(self) -> list[ConsumerRecord[K, V]]:
        """Return the next records, `max.poll.records` at most; wait for them.

        Raises as `Consumer.poll`. Is cancelled when the partition is revoked.
        """
        turns, state = self.turns, self.state
        if self._has_records:
            self.processed, self._has_records = state.position, False
        self.note_busy(self, False)
        await trio.lowlevel.checkpoint()
        try:
            while True:
                waits = self._changed = trio.Event()
                turns.take_error(state)
                if self.processed is None:  # a stream that is left at once has processed nothing
                    self.processed = state.position
                records = turns.reader.read_partition(state) if state.is_fetchable else []
                turns.fetcher.wake_if_touched()
                if records:
                    self._has_records = True
                    self.note_busy(self, True)
                    return records
                self.is_waiting = True
                turns.positions.ask_for(state)
                turns.wake()
                await waits.wait()
        finally:
            self.is_waiting = False

    async def commit(self, *, timeout_s: float | None = None) -> None:
        """Commit the offset behind the records that were handed out.

        Raises as `Consumer.commit`.
        """
        position = self.state.position
        if position is None or not (self._has_records or self.processed):
            await trio.lowlevel.checkpoint()
            return
        offset = OffsetAndMetadata(position.offset, position.epoch)
        await self._commit({self.at: offset}, timeout_s=timeout_s)

    def wake(self) -> None:
        """Look for records again."""
        self._changed.set()
