"""A task for each partition: `async with consumer.partitions() as streams`.

The task that runs the streams takes part in rebalances. When a partition is revoked, its stream
gives no more records; the hook is awaited; then its task is cancelled and its end awaited; then
what was processed is committed if `enable.auto.commit` is set. All of this happens inside the
revocation's deadline, while the tasks of other partitions work on.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Generic, TypeAlias, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.stream import OffsetCommit, PartitionStream
from trio_kafka.clients.consumer.turns import ReadTurns
from trio_kafka.clients.consumer.values import Position
from trio_kafka.model import TopicPartition

K = TypeVar("K")
V = TypeVar("V")
Handler: TypeAlias = Callable[[PartitionStream[K, V]], Awaitable[None]]


async def _nothing(stream: object) -> None:
    del stream


@define(eq=False, kw_only=True)
class PartitionStreams(Generic[K, V]):
    """The streams of a consumer. `run` runs a task for each. commit: `Consumer.commit`."""

    turns: ReadTurns[K, V]
    commit: OffsetCommit
    streams: dict[TopicPartition, PartitionStream[K, V]] = field(factory=dict, init=False)
    _busy: dict[PartitionStream[K, V], float] = field(factory=dict, init=False)
    _before_revoke: Handler[K, V] = field(default=_nothing, init=False)

    async def run(self, handle: Handler[K, V], *, before_revoke: Handler[K, V] = _nothing) -> None:
        """Call `handle` in a task for each partition, those assigned later too, until cancelled.

        handle: reads its stream; when it returns, the partition is read no more. before_revoke:
        awaited before the task of a revoked partition is cancelled: `PartitionStream.commit`, for
        one. Raises what a handler raises, in an ExceptionGroup as nurseries do, and
        as `Consumer.poll`.
        """
        turns, group = self.turns, self.turns.group
        self._before_revoke = before_revoke
        if group is not None:
            group.rebalance.streams = self._end_streams
        try:
            async with trio.open_nursery() as nursery:
                while True:
                    waits = turns.changed = trio.Event()
                    await turns.take_group_turn()
                    self._start_new(nursery, handle)
                    self._wake_ready()
                    with trio.move_on_at(turns.next_turn):
                        await waits.wait()
        finally:
            if group is not None:
                group.rebalance.streams = None

    def processed(self) -> dict[TopicPartition, Position]:
        """Return the positions up to which the tasks have processed records."""
        return {
            at: stream.processed
            for at, stream in self.streams.items()
            if stream.processed is not None
        }

    def note_busy(self, stream: PartitionStream[K, V], is_busy: bool) -> None:
        """Let the watchdog watch the task that has processed its records for the longest time."""
        self._busy.pop(stream, None)
        if is_busy:
            self._busy[stream] = trio.current_time()
        if self.turns.group is not None:
            self.turns.group.note_busy(next(iter(self._busy.values()), None))

    def _start_new(self, nursery: trio.Nursery, handle: Handler[K, V]) -> None:
        states = self.turns.positions.states
        for at, stream in list(self.streams.items()):
            if states.get(at) is not stream.state:
                stream.scope.cancel()
                del self.streams[at]
        for at, state in states.items():
            if at not in self.streams:
                stream = PartitionStream(
                    state=state, turns=self.turns, commit=self.commit, note_busy=self.note_busy
                )
                self.streams[at] = stream
                nursery.start_soon(self._run_stream, stream, handle, name=f"partition-{at}")

    async def _run_stream(self, stream: PartitionStream[K, V], handle: Handler[K, V]) -> None:
        try:
            with stream.scope:
                await handle(stream)
        finally:
            stream.ended.set()
            self.note_busy(stream, False)
        if self.turns.positions.states.get(stream.at) is stream.state:
            self.turns.positions.pause([stream.at])

    def _wake_ready(self) -> None:
        positions = self.turns.positions
        for state in positions.ready:
            if (stream := self.streams.get(state.at)) is not None:
                stream.wake()
        for at in positions.errors:
            if (stream := self.streams.get(at)) is not None:
                stream.wake()
        if any(stream.is_waiting for stream in self.streams.values()):
            self.turns.fetcher.relieve(self._is_awaited)

    def _is_awaited(self, state: PartitionState) -> bool:
        stream = self.streams.get(state.at)
        return stream is not None and stream.is_waiting

    async def _end_streams(self, partitions: Collection[TopicPartition]) -> None:
        """End the tasks of revoked or lost partitions."""
        streams = [self.streams[at] for at in partitions if at in self.streams]
        async with trio.open_nursery() as nursery:
            for stream in streams:
                nursery.start_soon(partial(self._end_stream, stream))

    async def _end_stream(self, stream: PartitionStream[K, V]) -> None:
        group = self.turns.group
        is_lost = group is not None and group.membership.identity is None
        try:
            if not is_lost and not stream.ended.is_set():
                await self._before_revoke(stream)
        finally:
            stream.scope.cancel()
        await stream.ended.wait()
