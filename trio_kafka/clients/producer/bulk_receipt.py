"""Receipt of many records: awaits their places in the log, or the errors, by batch."""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.receipt import wait_end
from trio_kafka.clients.producer.record import NO_OFFSET

_SHOWN: Final = 5  # positions in a text


@frozen(kw_only=True)
class StoredRecords:
    """Place of records that were stored together.

    positions: of the records among all of the receipt, in the order of their offsets.
    base_offset: of the first of them; the others follow. -1 if it is not known, see RecordMetadata.
    """

    topic: str
    partition: int
    base_offset: int
    positions: Sequence[int]


@frozen(kw_only=True)
class FailedRecords:
    """Records that failed together. positions: as of StoredRecords. error: see `sent` there."""

    topic: str
    partition: int
    positions: Sequence[int]
    error: ClientError


@define(eq=False)
class BulkReceipt:
    """Result of `send_many`: `await receipt` returns the places of all records, or raises.

    One receipt may be given to several calls; it counts their records on. first: position of the
    first record, for places and errors. count: records that are queued so far, also when a call of
    `send_many` has raised or was cancelled: the others of that call will never be sent. A wait
    that is cancelled changes nothing.
    """

    first: int = 0
    count: int = field(default=0, init=False)
    _parts: list[tuple[ProducerBatch, int, Sequence[int]]] = field(factory=list, init=False)

    def note(self, batch: ProducerBatch, number: int, positions: Sequence[int]) -> None:
        """Note records that were queued. number: of the first in the batch; the others follow."""
        self._parts.append((batch, number, positions))
        self.count += len(positions)

    @property
    def next_position(self) -> int:
        """Position of the next record that is queued."""
        return self.first + self.count

    def __await__(self) -> Generator[object, None, list[StoredRecords]]:
        return self.wait().__await__()

    async def wait(self) -> list[StoredRecords]:
        """Return the places of all records, once all are stored or have failed.

        Raises the ClientError of the first records that failed: it names them. See `failures`.
        """
        await trio.lowlevel.checkpoint()
        for batch, _, _ in list(self._parts):
            await wait_end(batch)
        return self.result()

    @property
    def is_done(self) -> bool:
        """True if all records are stored or have failed."""
        return all(batch.outcome is not None for batch, _, _ in self._pieces())

    def result(self) -> list[StoredRecords]:
        """Return the places of records that are done. Raises ClientError, trio.WouldBlock."""
        failures = self.failures()
        if failures:
            raise _error_of(failures[0])
        return self.stored()

    def stored(self) -> list[StoredRecords]:
        """Return the places of the stored records. Raises trio.WouldBlock before the end."""
        return [
            StoredRecords(
                topic=batch.place.topic,
                partition=batch.place.partition,
                base_offset=_offset(outcome, number),
                positions=positions,
            )
            for batch, number, positions in self._pieces()
            if isinstance(outcome := _outcome(batch), Stored)
        ]

    def failures(self) -> list[FailedRecords]:
        """Return the records that have failed. Raises trio.WouldBlock before the end."""
        return [
            FailedRecords(
                topic=batch.place.topic,
                partition=batch.place.partition,
                positions=positions,
                error=outcome.error.again(),
            )
            for batch, _, positions in self._pieces()
            if isinstance(outcome := _outcome(batch), Failed)
        ]

    def _pieces(self) -> Iterator[tuple[ProducerBatch, int, Sequence[int]]]:
        for batch, number, positions in self._parts:
            yield from _split(batch, number, positions)


def _split(
    batch: ProducerBatch, number: int, positions: Sequence[int]
) -> Iterator[tuple[ProducerBatch, int, Sequence[int]]]:
    """Yield the batches in which records are, also after a split."""
    if not batch.parts:
        yield batch, number, positions
        return
    for part in batch.parts:
        count = min(max(part.count - number, 0), len(positions))
        if count:
            yield from _split(part, number, positions[:count])
            positions = positions[count:]
        number = max(number - part.count, 0)


def _outcome(batch: ProducerBatch) -> Stored | Failed:
    if batch.outcome is None:
        raise trio.WouldBlock
    return batch.outcome


def _offset(outcome: Stored, number: int) -> int:
    return NO_OFFSET if outcome.base_offset == NO_OFFSET else outcome.base_offset + number


def _error_of(failed: FailedRecords) -> ClientError:
    error = failed.error
    return type(error)(
        f"{error.message}; {show_positions(failed.positions)}",
        place=error.place,
        code=error.code,
        sent=error.sent,
    )


def show_positions(positions: Sequence[int]) -> str:
    """Return which records these are, in words."""
    first, last = positions[0], positions[-1]
    if len(positions) == 1:
        return f"record {first}"
    if last - first + 1 == len(positions):
        return f"records {first} to {last}"
    if len(positions) <= _SHOWN:
        return f"records {', '.join(map(str, positions))}"
    begin = ", ".join(map(str, positions[:_SHOWN]))
    return f"records {begin} and {len(positions) - _SHOWN} more up to {last}"
