"""A batch of one partition, from its first record to its end. Does no I/O.

Records are encoded in small portions as they come, so that closing a batch takes no long turn. A
closed batch is bytes: a retry sends them again, a new sequence number is stamped in place, and a
batch that is too large is decoded and split.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final, Protocol

from attrs import field
from crc32c import crc32c

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.record import NO_OFFSET, record_bound
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import (
    NO_PRODUCER,
    BatchBody,
    ProducerFields,
    Record,
    close_batch,
    iterate_headers,
    read_records,
)
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.records.many import add_many

_PORTION: Final = 64  # records that are encoded together
_PRODUCER: Final = Struct(">qhi")  # id, epoch and base sequence in a header
_PRODUCER_AT: Final = 43
_CRC: Final = Struct(">I")
_CRC_AT: Final = 17
_COVERED_AT: Final = 21  # the checksum is about the bytes from here on
_LAST_SEQUENCE: Final = 0x7FFFFFFF
# What Python needs to hold a record until it is encoded, beside its bytes.
OBJECT_BYTES: Final = 64


class Latch(Protocol):
    """Thing that wakes what waits for a batch."""

    def set(self) -> None: ...


@frozen(kw_only=True)
class Stored:
    """Outcome of a batch that is in the log. append_ms: time of the broker; -1: of the records."""

    base_offset: int = NO_OFFSET
    append_ms: int = -1


@frozen(kw_only=True)
class Failed:
    """Outcome of a batch that failed. The error is made anew for each record that asks."""

    error: ClientError


def advanced(sequence: int, count: int) -> int:
    """Return the sequence number `count` records later; after the last one comes 0."""
    return (sequence + count) & _LAST_SEQUENCE


@define(eq=False, kw_only=True)
class ProducerBatch:
    """A batch. place: its partition. order: among the batches of the partition, for its whole life.

    created: time of the first record. expires: end of `delivery.timeout.ms`.
    size: bound of its encoded records. memory: what it has taken of the pool.
    attempts: sent so often. not_before: end of the back-off of a retry.
    producer: id, epoch and sequence; None until it is first sent, and without idempotence.
    may_be_stored: the result of an attempt is not known. in_flight: sent and not answered.
    outcome: None until its end. parts: the batches that it was split into.
    """

    place: TopicPartition
    order: tuple[int, ...]
    created: float
    expires: float
    size: int = field(default=0, init=False)
    count: int = field(default=0, init=False)
    memory: int = field(default=0, init=False)
    attempts: int = field(default=0, init=False)
    not_before: float = field(default=float("-inf"), init=False)
    is_full: bool = field(default=False, init=False)
    producer: ProducerFields | None = field(default=None, init=False)
    needs_sequence: bool = field(default=False, init=False)
    may_be_stored: bool = field(default=False, init=False)
    in_flight: bool = field(default=False, init=False)
    outcome: Stored | Failed | None = field(default=None, init=False)
    parts: Sequence["ProducerBatch"] = field(default=(), init=False)
    latch: Latch | None = field(default=None, init=False)
    _waiting: list[Record] = field(factory=list, init=False)
    _body: BatchBody | None = field(factory=BatchBody, init=False)
    _data: bytearray | None = field(default=None, init=False)

    def add(self, record: Record, size: int) -> int:
        """Add a record without an offset; return its number. size: bound of its encoded size."""
        self._waiting.append(record)
        if len(self._waiting) >= _PORTION:
            self._encode_waiting()
        self.size += size
        self.memory += size + OBJECT_BYTES
        number = self.count
        self.count = number + 1
        return number

    def add_many(
        self,
        values: Sequence[bytes | None],
        keys: Sequence[bytes | None] | None,
        timestamp_ms: int,
        size: int,
    ) -> int:
        """Add records, encoded at once; return the number of the first. See `records.many`.

        size: bound of their encoded sizes together, which is all the memory that they take.
        """
        self._encode_waiting()
        if self._body is None:
            raise ValueError("the batch has ended")
        add_many(self._body, values, keys, timestamp_ms)
        self.size += size
        self.memory += size
        number = self.count
        self.count += len(values)
        return number

    @property
    def is_closed(self) -> bool:
        """True if it takes no more records."""
        return self._data is not None

    @property
    def data(self) -> bytearray | None:
        """The bytes of a closed batch; None before, and after its end."""
        return self._data

    @property
    def encoded_size(self) -> int:
        """Bytes of a closed batch; otherwise the bound."""
        return HEADER_SIZE + self.size if self._data is None else len(self._data)

    def close(self, codec: Codec, level: int | None, attributes: int = 0) -> bytearray:
        """Encode the batch, once: it takes no more records. Return its bytes.

        attributes: of the header, besides the codec.
        """
        if self._data is None:
            self._encode_waiting()
            body, self._body = self._body, None
            if body is None:
                raise ValueError("the batch has ended")
            fields = NO_PRODUCER if self.producer is None else self.producer
            self._data, _ = close_batch(
                body, codec=codec, level=level, producer=fields, attributes=attributes
            )
            self.is_full = True
        return self._data

    def stamp(self, producer: ProducerFields) -> None:
        """Set id, epoch and base sequence, also of a closed batch."""
        self.producer = producer
        self.needs_sequence = False
        if self._data is not None:
            _PRODUCER.pack_into(self._data, _PRODUCER_AT, *producer)
            with memoryview(self._data) as view:
                crc = crc32c(view[_COVERED_AT:])
            _CRC.pack_into(self._data, _CRC_AT, crc)

    def split(self, size: int, now: float) -> Sequence["ProducerBatch"]:
        """Split a closed batch into batches of about `size` bytes of records, at least two.

        They take its sequence numbers, its age and its memory. Returns them in order.
        """
        data = bytes(self._data or b"")
        ((at, header),) = iterate_headers(data)
        records = list(read_records(data, at, header))
        groups = _groups(records, min(size, sum(map(_size_of, records)) // 2))
        parts = [self._part(number, group) for number, group in enumerate(groups)]
        first = 0
        for part in parts:
            if self.producer is not None:
                fields = self.producer
                part.stamp(fields._replace(base_sequence=advanced(fields.base_sequence, first)))
            first += part.count
            part.attempts = self.attempts
            part.not_before = now
            part.memory = 0
        parts[0].memory = self.memory
        self.memory = 0
        self.parts = parts
        self._end()
        return parts

    def finish(self, outcome: Stored | Failed) -> None:
        """Set the outcome, and drop the bytes."""
        self.outcome = outcome
        self._end()

    def _part(self, number: int, records: Sequence[Record]) -> "ProducerBatch":
        part = ProducerBatch(
            place=self.place,
            order=(*self.order, number),
            created=self.created,
            expires=self.expires,
        )
        for record in records:
            part.add(
                Record(-1, record.timestamp, record.key, record.value, record.headers),
                _size_of(record),
            )
        part.is_full = True
        return part

    def _encode_waiting(self) -> None:
        if self._waiting and self._body is not None:
            self._body.add_all(self._waiting)
            self._waiting = []

    def _end(self) -> None:
        if self.latch is not None:
            self.latch.set()
        if not self.in_flight:
            self._data = None
        self._body = None
        self._waiting = []


def _size_of(record: Record) -> int:
    return record_bound(record.key, record.value, record.headers)


def _groups(records: Sequence[Record], limit: int) -> Iterator[list[Record]]:
    """Yield the records in groups of about `limit` bytes, at least one in each."""
    group: list[Record] = []
    size = 0
    for record in records:
        more = _size_of(record)
        if group and size + more > limit:
            yield group
            group, size = [], 0
        group.append(record)
        size += more
    yield group
