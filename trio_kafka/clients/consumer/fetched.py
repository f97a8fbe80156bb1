"""Batches of one partition from a response to a Fetch, decoded when they are read. Does no I/O.

A reader never sees control batches, batches of aborted transactions, and records before the fetch
offset. The end of what was read moves over them nevertheless: a position that stayed before an
aborted batch or a gap of the cleaner would be fetched again forever.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, islice

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.values import Position
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import (
    BatchHeader,
    Record,
    check_crc,
    iterate_headers,
    plain_records,
    read_records,
)
from trio_kafka.records.committed import committed_batches
from trio_kafka.records.value_walk import decode_values

Aborted = Sequence[tuple[int, int]]  # producer id and first offset of aborted transactions


@define(eq=False)
class FetchedData:
    """Whole batches from `start` on. end: position after the last batch.

    aborted: transactions whose batches are left out.
    """

    data: memoryview
    start: Position
    end: Position
    aborted: Aborted = ()
    checks_crc: bool = True
    read_to: Position = field(init=False)
    _batches: Iterator[tuple[int, BatchHeader]] = field(init=False)
    _header: BatchHeader | None = field(default=None, init=False)
    _records: Iterator[Record] = field(factory=lambda: iter(()), init=False)
    # Of an earlier call. No exception: its traceback would keep the data in memory.
    _failure: tuple[ErrorCode, str | None] | None = field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.read_to = self.start
        self._batches = committed_batches(self.data, self.aborted)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return len(self.data)

    @property
    def is_exhausted(self) -> bool:
        return self.read_to.offset >= self.end.offset

    def read(self, most: int) -> tuple[Sequence[Record], BatchHeader | None]:
        """Return up to `most` records of one batch, and its header; no records: the end.

        Moves `read_to`. Raises KafkaError(CORRUPT_MESSAGE), and again at each later call: a reader
        that went on would skip the records of the corrupt batch unnoticed.
        """
        self._check_failure()
        try:
            return self._read(most)
        except KafkaError as error:
            self._failure = error.code, error.message
            raise

    def _read(self, most: int) -> tuple[Sequence[Record], BatchHeader | None]:
        after = self.read_to.offset
        while (header := self._header or self._open_next()) is not None:
            records = list(islice(self._records, most))
            if len(records) < most:
                self.read_to = Position(header.next_offset, header.leader_epoch)
                self._header = None
            else:
                offset = max(records[-1].offset + 1, after)
                self.read_to = Position(offset, header.leader_epoch)
            if records and records[0].offset < after:
                records = [record for record in records if record.offset >= after]
            if records:
                return records, header
        self.read_to = self.end
        return (), None

    def values(self) -> Iterator[list[bytes | None]]:
        """Yield the values of the records that were not read, many at once. Moves `read_to`.

        Raises as `read`.
        """
        self._check_failure()
        try:
            yield from self._values()
        except KafkaError as error:
            self._failure = error.code, error.message
            raise

    def _values(self) -> Iterator[list[bytes | None]]:
        if self._header is not None:
            yield [record.value for record in self._records]
            self._header = None
        after = self.read_to.offset
        for place, header in self._batches:
            if self.checks_crc:
                check_crc(self.data, place, header)
            plain = plain_records(self.data, place, header)
            yield from decode_values(plain, header, start=after, position=place)
            self.read_to = Position(header.next_offset, header.leader_epoch)
        self.read_to = self.end

    def give_back(self, records: Sequence[Record], header: BatchHeader) -> None:
        """Take back the last records of the last `read`, so that they are read again."""
        if records:
            self._records = chain(records, self._records)
            self._header = header
            self.read_to = Position(records[0].offset, header.leader_epoch)

    def _check_failure(self) -> None:
        """Raise the failure of an earlier call."""
        if self._failure is not None:
            raise KafkaError(*self._failure)

    def _open_next(self) -> BatchHeader | None:
        batch = next(self._batches, None)
        if batch is None:
            return None
        place, header = batch
        if self.checks_crc:
            check_crc(self.data, place, header)
        self._header = header
        self._records = read_records(self.data, place, header)
        return header


def whole_end(data: memoryview, start: Position) -> Position:
    """Return the position after the last whole batch; `start` if there is none.

    Raises KafkaError(CORRUPT_MESSAGE, UNSUPPORTED_FOR_MESSAGE_FORMAT).
    """
    last = None
    for _, header in iterate_headers(data):
        last = header
    if last is None or last.next_offset <= start.offset:
        return start
    return Position(last.next_offset, last.leader_epoch)
