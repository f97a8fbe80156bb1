"""Record batches of magic 2: from bytes to records and back. Headers are in `header`.

Input is hostile: every length is checked against the remaining bytes. An invalid batch raises
    KafkaError(CORRUPT_MESSAGE) with its position.
Source: record format of KIP-98; tested on files that Kafka wrote.
"""

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from attrs import field
from crc32c import crc32c

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.records.compression import Codec, compress, decompress
from trio_kafka.records.header import (
    COVERED,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    MAGIC,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    SMALLEST_LENGTH,
    UNCOVERED,
    BatchHeader,
    check_crc,
    corrupt,
    iterate_headers,
    read_header,
    stamp_append_time,
)
from trio_kafka.records.leaf import EncodeState, Leaf, ScanState, leaf
from trio_kafka.records.record_scan import BEGIN, scan_records
from trio_kafka.records.varint import encode_varint, read_varint
from trio_kafka.world.protocols import Buffer

__all__ = [
    "HEADER",
    "HEADER_SIZE",
    "BatchBody",
    "BatchHeader",
    "ProducerFields",
    "Record",
    "check_crc",
    "close_batch",
    "decode_in_steps",
    "decode_records",
    "encode_batch",
    "iterate_headers",
    "plain_records",
    "read_header",
    "read_records",
    "stamp_append_time",
]

# More than any batch with default settings: message.max.bytes is 1 MiB, compressed.
DECOMPRESSED_LIMIT: Final = 256 << 20

_NEXT_OFFSET: Final = -1
_NULL: Final = encode_varint(-1)

Headers = Sequence[tuple[str, bytes | None]]
_LEAF_STEP: Final = 128  # records and headers that the compiled leaf decodes at once: 0.1 ms


@define
class Record:
    """One record. Offset -1: encoded with the offset after the record before. Times in ms.

    Decoded headers are a tuple. Fields by position, and no list of its own: millions are made.
    """

    offset: int = _NEXT_OFFSET
    timestamp: int = NO_TIMESTAMP
    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()


def read_records(
    buffer: Buffer, position: int, header: BatchHeader, *, limit: int = DECOMPRESSED_LIMIT
) -> Iterator[Record]:
    """Decode the records of the batch at `position` one by one.

    header: as `read_header` returned it. limit: bytes of the decompressed records.
    Raises KafkaError(CORRUPT_MESSAGE) at the first invalid record: one that ends outside of its
    batch, a wrong count, offsets outside of the header's range or not ascending. The CRC is not
    checked.
    """
    return decode_records(plain_records(buffer, position, header, limit), header, position)


def plain_records(
    buffer: Buffer, position: int, header: BatchHeader, limit: int = DECOMPRESSED_LIMIT
) -> bytes:
    """Return the decompressed records of the batch at `position`. Raises as `read_records`."""
    end = position + header.length + LENGTH_END
    if end > len(buffer):
        raise corrupt(f"batch of {header.size} bytes at position {position} of {len(buffer)}")
    return decompress(header.codec, memoryview(buffer)[position + HEADER_SIZE : end], limit)


def decode_records(data: bytes, header: BatchHeader, position: int = 0) -> Iterator[Record]:
    """Decode the records of decompressed `data`; `position` names the batch in errors."""
    state = BEGIN
    if (compiled := leaf()) is not None:
        state = yield from _decode_compiled(compiled, data, header)
        if state.number == header.count > 0:
            return
    for scanned in _decode_scanned(data, header, position, state=state):
        if scanned is not None:
            yield scanned[0]


def decode_in_steps(
    data: bytes, header: BatchHeader, position: int = 0, *, most_headers: int
) -> Iterator[tuple[Record, int] | None]:
    """Decode as `decode_records`, for a loop that other tasks share. None: a pause.

    Yields each record with the number of its headers. One with more than `most_headers` comes
    without them: 16 MiB may have eight million, which take 8 s and 1 GB.
    """
    # Not by the compiled leaf, which makes all headers of a record at once.
    return _decode_scanned(data, header, position, state=BEGIN, most_headers=most_headers)


def _decode_scanned(
    data: bytes,
    header: BatchHeader,
    position: int,
    *,
    state: ScanState,
    most_headers: int = sys.maxsize,
) -> Iterator[tuple[Record, int] | None]:
    try:
        for scanned in scan_records(data, header, state=state):
            if scanned is None:
                yield None
                continue
            delta, timestamp, key_size, key_end, value_size, value_end, count = scanned
            record = Record(
                header.base_offset + delta,
                timestamp,
                None if key_size < 0 else data[key_end - key_size : key_end],
                None if value_size < 0 else data[value_end - value_size : value_end],
                _read_headers(data, value_end) if 0 < count <= most_headers else (),
            )
            yield record, count
    except ValueError as error:
        raise corrupt(f"{error}; in the batch at {position}") from error
    except KafkaError as error:
        raise corrupt(f"{error.message} of the batch at {position}") from error


def _decode_compiled(
    compiled: Leaf, data: bytes, header: BatchHeader
) -> Generator[Record, None, ScanState]:
    """Decode with the compiled leaf up to the end or to a doubt; return the place."""
    state = BEGIN
    while state.number < header.count and (
        part := compiled.decode(Record, data, header, state, _LEAF_STEP)
    ):
        records, place = part
        state = ScanState(*place)
        yield from records
    return state


def _read_headers(data: bytes, at: int) -> Headers:
    """Read headers that were scanned. In names, U+FFFD replaces what is not UTF-8, as in Java."""
    count, at = read_varint(data, at)
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        size, at = read_varint(data, at)
        name, at = data[at : at + size].decode(errors="replace"), at + size
        size, at = read_varint(data, at)
        headers.append((name, None if size < 0 else data[at : at + size]))
        at += max(size, 0)
    return tuple(headers)


@define(kw_only=True)
class BatchBody:
    """Records of a batch that is filled step by step; `encode_batch` closes it.

    Records with offsets keep them: they must ascend from `base_offset` on.
    """

    base_offset: int = 0
    base_timestamp: int | None = None  # that of the first record
    max_timestamp: int = NO_TIMESTAMP
    last_delta: int = -1
    count: int = 0
    encoded: list[bytes | bytearray] = field(factory=list)  # sizes and records, or many at once

    def add(self, record: Record) -> None:
        """Add a record. Raises ValueError for an offset that does not fit."""
        if record.offset >= 0:
            delta = record.offset - self.base_offset
            if delta <= self.last_delta:
                last = self.base_offset + self.last_delta
                raise ValueError(f"offset {record.offset}, want more than {last}")
            self.last_delta = delta - 1
        self.add_pair(record.key, record.value, record.timestamp, headers=record.headers)

    def add_all(self, records: Sequence[Record]) -> None:
        """Add records. Raises ValueError for an offset that does not fit."""
        if (compiled := leaf()) is not None:
            encoded = compiled.encode(
                records,
                EncodeState(
                    self.base_offset, self.base_timestamp, self.max_timestamp, self.last_delta
                ),
            )
            if encoded is not None:
                block, count, state = encoded
                _, self.base_timestamp, self.max_timestamp, self.last_delta = state
                self.encoded.append(block)
                self.count += count
                return
        for record in records:
            self.add(record)

    def add_pair(
        self, key: bytes | None, value: bytes | None, timestamp: int, *, headers: Headers = ()
    ) -> None:
        """Add a record with the offset after the record before."""
        base = self.base_timestamp
        if base is None:
            base = self.base_timestamp = timestamp
        self.max_timestamp = max(self.max_timestamp, timestamp)
        self.last_delta = delta = self.last_delta + 1
        body = b"".join(
            (
                b"\0",
                encode_varint(timestamp - base),
                encode_varint(delta),
                _NULL if key is None else encode_varint(len(key)),
                key or b"",
                _NULL if value is None else encode_varint(len(value)),
                value or b"",
                _encode_headers(headers) if headers else b"\0",
            )
        )
        self.encoded += (encode_varint(len(body)), body)
        self.count += 1


def _encode_headers(headers: Headers) -> bytes:
    parts = [encode_varint(len(headers))]
    for name, content in headers:
        encoded = name.encode()
        parts += (encode_varint(len(encoded)), encoded)
        parts += (_NULL,) if content is None else (encode_varint(len(content)), content)
    return b"".join(parts)


class ProducerFields(NamedTuple):
    """Fields of a header that identify the producer of a batch, and the batch among its own."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_EPOCH
    base_sequence: int = NO_SEQUENCE


NO_PRODUCER: Final = ProducerFields()


def encode_batch(
    records: Iterable[Record] | BatchBody,
    base_offset: int = 0,
    leader_epoch: int = -1,
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer: ProducerFields = NO_PRODUCER,
    attributes: int = 0,
) -> bytes:
    """Encode one batch. Records with offsets keep them: they must ascend from `base_offset` on.

    records: a BatchBody has its own offsets and timestamps.
    attributes: those of the batch besides its codec, such as CONTROL.
    Raises ValueError for offsets that do not fit, and for a batch without records.
    """
    if isinstance(records, BatchBody):
        body = records
    else:
        body = BatchBody(base_offset=base_offset)
        body.add_all(records if isinstance(records, Sequence) else tuple(records))
    return bytes(
        close_batch(
            body,
            base_offset,
            leader_epoch,
            codec=codec,
            level=level,
            producer=producer,
            attributes=attributes,
        )[0]
    )


def close_batch(
    body: BatchBody,
    base_offset: int = 0,
    leader_epoch: int = -1,
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer: ProducerFields = NO_PRODUCER,
    attributes: int = 0,
) -> tuple[bytearray, BatchHeader]:
    """Encode a batch as `encode_batch` does; return it with its header."""
    if body.last_delta < 0:
        raise ValueError("a batch without records: want at least one")
    data = b"".join(body.encoded)
    if codec is not Codec.NONE:
        data = compress(codec, data, level)
    base_timestamp = NO_TIMESTAMP if body.base_timestamp is None else body.base_timestamp
    attributes |= codec
    last_delta, latest, count = body.last_delta, body.max_timestamp, body.count
    fields = (attributes, last_delta, base_timestamp, latest, *producer, count)
    return _sealed(base_offset, leader_epoch, fields, data)


def batch_of_one(
    key: bytes, value: bytes, timestamp: int, producer: ProducerFields = NO_PRODUCER
) -> tuple[bytearray, BatchHeader]:
    """Encode a batch of one record, without compression, as `close_batch` does. timestamp: >= 0.

    A coordinator writes one for nearly every commit of offsets: by way of `BatchBody` that takes
    5 % more steps of the interpreter.
    """
    sizes = encode_varint(len(key)), encode_varint(len(value))
    # Attributes, and the deltas of time and offset, are 0. There are no headers.
    record = b"".join((b"\0\0\0", sizes[0], key, sizes[1], value, b"\0"))
    fields = (0, 0, timestamp, timestamp, *producer, 1)
    return _sealed(0, NO_EPOCH, fields, encode_varint(len(record)) + record)


def _sealed(
    base_offset: int, leader_epoch: int, fields: tuple[int, ...], data: bytes
) -> tuple[bytearray, BatchHeader]:
    """Return a batch and its header. fields: of the header, those that the checksum covers."""
    covered = COVERED.pack(*fields)
    crc = crc32c(data, crc32c(covered))
    before = (base_offset, len(data) + SMALLEST_LENGTH, leader_epoch, MAGIC, crc)
    batch = bytearray().join((UNCOVERED.pack(*before), covered, data))
    return batch, BatchHeader(*before, *fields)
