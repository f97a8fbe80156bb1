"""Ways to read from a consumer by one task: many records, one by one, or whole batches.

A read takes its turn, looks at the buffers, and waits if they are empty.
"""

from typing import Final, Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.batch import PartitionBatch
from trio_kafka.clients.consumer.turns import ReadTurns
from trio_kafka.clients.consumer.values import ConsumerRecord

K = TypeVar("K")
V = TypeVar("V")
_PAUSE_AFTER: Final = 64  # records between two pauses of a loop that never has to wait


@define(eq=False)
class ConsumerReads(Generic[K, V]):
    """Reads of a consumer."""

    turns: ReadTurns[K, V]
    _since_pause: int = field(default=0, init=False)

    async def poll(self, timeout_s: float) -> list[ConsumerRecord[K, V]]:
        """Return the next records; none if none come in time. See `Consumer.poll`."""
        turns = self.turns
        turns.begin()
        try:
            await trio.lowlevel.checkpoint()
            deadline = trio.current_time() + timeout_s
            while True:
                waits = turns.changed = trio.Event()
                await turns.take()
                records = turns.reader.read()
                turns.fetcher.wake_if_touched()
                if records or trio.current_time() >= deadline:
                    return records
                turns.relieve()
                with trio.move_on_at(min(deadline, turns.next_turn)):
                    await waits.wait()
        finally:
            turns.end()

    async def next(self) -> ConsumerRecord[K, V]:
        """Return the next record; wait for it without a deadline."""
        turns = self.turns
        turns.begin()
        try:
            self._since_pause += 1
            if self._since_pause >= _PAUSE_AFTER:
                self._since_pause = 0
                await trio.lowlevel.checkpoint()
            else:
                await trio.lowlevel.checkpoint_if_cancelled()
            while True:
                waits: trio.Event | None = None
                if turns.is_due:
                    waits = turns.changed = trio.Event()  # a turn may miss what comes meanwhile
                    await turns.take()
                record = turns.reader.next()
                turns.fetcher.wake_if_touched()
                if record is not None:
                    return record
                if waits is None:
                    waits = turns.changed = trio.Event()
                turns.relieve()
                with trio.move_on_at(turns.next_turn):
                    await waits.wait()
        finally:
            turns.end()

    async def next_batch(self) -> PartitionBatch[K, V]:
        """Return what the next Fetch has brought of a partition; wait for it."""
        turns = self.turns
        turns.begin()
        try:
            await trio.lowlevel.checkpoint()
            while True:
                waits = turns.changed = trio.Event()
                await turns.take()
                taken = turns.reader.next_data()
                turns.fetcher.wake_if_touched()
                if taken is not None:
                    state, data = taken
                    return PartitionBatch(
                        topic=state.at.topic,
                        partition=state.at.partition,
                        first_offset=data.read_to.offset,
                        next_offset=data.end.offset,
                        state=state,
                        data=data,
                        reader=turns.reader,
                    )
                turns.relieve()
                with trio.move_on_at(turns.next_turn):
                    await waits.wait()
        finally:
            turns.end()


@define(eq=False)
class BatchIterator(Generic[K, V]):
    """Batches, without an end. No generator: a loop may leave it at any time."""

    reads: ConsumerReads[K, V]

    def __aiter__(self) -> "BatchIterator[K, V]":
        return self

    async def __anext__(self) -> PartitionBatch[K, V]:
        """Return the next batch; wait for it."""
        return await self.reads.next_batch()
