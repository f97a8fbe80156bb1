"""Receipt of a record: awaits its place in the log, or the error."""

from collections.abc import Generator

import trio

from trio_kafka.attributes import define
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.record import NO_OFFSET, RecordMetadata


@define(eq=False)
class Receipt:
    """Result of `send`: `await receipt` returns the metadata of the record, or raises its error.

    A wait that is cancelled changes nothing: the record is on its way all the same, and the receipt
    can be awaited again. A receipt that is not awaited costs nothing.
    """

    _batch: ProducerBatch
    _number: int
    _timestamp_ms: int

    def __await__(self) -> Generator[object, None, RecordMetadata]:
        return self.wait().__await__()

    async def wait(self) -> RecordMetadata:
        """Return the metadata of the stored record. Raises ClientError, see `sent` there."""
        await trio.lowlevel.checkpoint()
        while not self.is_done:
            await _wait_change(self._batch)
        return self.result()

    @property
    def batch(self) -> ProducerBatch:
        """Batch in which the record is; after a split, the part that has it."""
        return self._follow()

    @property
    def number(self) -> int:
        """Number of the record in `batch`."""
        self._follow()
        return self._number

    @property
    def is_done(self) -> bool:
        """True if the record is stored or has failed."""
        return self._follow().outcome is not None

    @property
    def may_be_stored(self) -> bool:
        """True if the record may be in the log by now, or is."""
        batch = self._follow()
        if isinstance(batch.outcome, Failed):
            return batch.outcome.error.sent
        return batch.outcome is not None or batch.in_flight or batch.may_be_stored

    def result(self) -> RecordMetadata:
        """Return the metadata of a record that is done. Raises ClientError, trio.WouldBlock."""
        batch = self._follow()
        outcome = batch.outcome
        if outcome is None:
            raise trio.WouldBlock
        if isinstance(outcome, Failed):
            raise outcome.error.again()
        return RecordMetadata(
            topic=batch.place.topic,
            partition=batch.place.partition,
            offset=self._offset(outcome),
            timestamp_ms=self._timestamp_ms if outcome.append_ms < 0 else outcome.append_ms,
        )

    def _offset(self, outcome: Stored) -> int:
        base = outcome.base_offset
        return NO_OFFSET if base == NO_OFFSET else base + self._number

    def _follow(self) -> ProducerBatch:
        """Return the batch of the record, also after a split."""
        while self._batch.parts:
            for part in self._batch.parts:
                if self._number < part.count:
                    self._batch = part
                    break
                self._number -= part.count
        return self._batch


async def wait_end(batch: ProducerBatch) -> None:
    """Wait until all records of a batch are stored or have failed."""
    await trio.lowlevel.checkpoint()
    while batch.outcome is None and not batch.parts:
        await _wait_change(batch)
    for part in batch.parts:
        await wait_end(part)


async def _wait_change(batch: ProducerBatch) -> None:
    """Wait until a batch has ended or was split."""
    if not isinstance(batch.latch, trio.Event):
        batch.latch = trio.Event()
    await batch.latch.wait()
