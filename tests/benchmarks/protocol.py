"""As much of Kafka's protocol as the measurements need, apart from the code that they measure.

Requests are complete frames with fixed client id and correlation id; old, fixed versions, so that a
position in an answer is a sum. Sizes in bytes.
"""

import struct
import time
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from crc32c import crc32c

PRODUCE: Final = 0
FETCH: Final = 1
METADATA: Final = 3
API_VERSIONS: Final = 18
_CORRELATION: Final = 7
_PRODUCED: Final = 30  # a partition in an answer to Produce 7
_BATCH_HEAD: Final = 27  # bytes of a batch up to its last offset
NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
FINAL_EPOCH: Final = -1  # ends the session that the request names
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1
_TRANSACTIONAL: Final = 0x10


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def frame(key: int, version: int, body: bytes = b"") -> bytes:
    """A request with header version 1, after its length."""
    payload = struct.pack(">hhi", key, version, _CORRELATION) + string("bench") + body
    return struct.pack(">i", len(payload)) + payload


def varint(value: int) -> bytes:
    """Zigzag, as in records."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class BatchProducer(NamedTuple):
    """Producer of a batch; by default there is none. sequence: of its first record."""

    producer_id: int = -1
    epoch: int = -1
    sequence: int = -1


def record_batch(
    values: Sequence[bytes], time_ms: int | None = None, producer: BatchProducer | None = None
) -> bytes:
    """An uncompressed batch (magic 2) of records without keys, all of one time; None: now.

    producer: makes it a batch of its transaction.
    """
    records = b""
    for n, value in enumerate(values):
        record = b"\0" + varint(0) + varint(n) + varint(-1) + varint(len(value)) + value + varint(0)
        records += varint(len(record)) + record
    now = int(time.time() * 1000) if time_ms is None else time_ms
    attributes = 0 if producer is None else _TRANSACTIONAL
    last = len(values) - 1
    checked = struct.pack(">hiqq", attributes, last, now, now)
    checked += struct.pack(">qhi", *(producer or BatchProducer()))
    checked += struct.pack(">i", len(values)) + records
    head = struct.pack(">iBI", -1, 2, crc32c(checked))
    return struct.pack(">qi", 0, len(head) + len(checked)) + head + checked


def produce_request(
    topic: str, batch: bytes, acks: int, partitions: int = 1, first: int = 0
) -> bytes:
    """Produce 7 of one batch to each of `partitions` partitions, from number `first` on."""
    head = struct.pack(">hhii", -1, acks, 30_000, 1) + string(topic)
    numbers = range(first, first + partitions)
    data = [struct.pack(">ii", number, len(batch)) + batch for number in numbers]
    return frame(PRODUCE, 7, head + struct.pack(">i", partitions) + b"".join(data))


def produce_error(topic: str, answer: memoryview) -> int:
    """The first error code of a partition in an answer to `produce_request`, or 0."""
    first = 4 + 4 + 2 + len(topic) + 4
    (count,) = struct.unpack_from(">i", answer, first - 4)
    for at in range(first, first + _PRODUCED * count, _PRODUCED):
        (error,) = struct.unpack_from(">h", answer, at + 4)
        if error:
            return int(error)
    return 0


def fetch_request(
    topic: str, offset: int, size: int, partition: int = 0, isolation: int = READ_UNCOMMITTED
) -> bytes:
    """Fetch 4 of one partition: at least one byte, at most `size`, waiting for 500 ms."""
    head = struct.pack(">iiiibi", -1, 500, 1, size, isolation, 1) + string(topic)
    return frame(FETCH, 4, head + struct.pack(">iiqi", 1, partition, offset, size))


def fetch_answer(topic: str, answer: memoryview) -> tuple[int, int, int]:
    """Error code, high watermark and bytes of records in an answer to `fetch_request`."""
    error, high, _, records = fetched(topic, answer)
    return error, high, len(records)


def fetched(topic: str, answer: memoryview) -> tuple[int, int, int, memoryview]:
    """Error code, high watermark, number of aborted transactions and records in an answer to
    `fetch_request`.
    """
    fixed = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    error, high, _, count = struct.unpack_from(">hqqi", answer, fixed)
    aborted = max(count, 0)
    at = fixed + 22 + 16 * aborted
    (size,) = struct.unpack_from(">i", answer, at)
    return error, high, aborted, answer[at + 4 : at + 4 + max(size, 0)]


def poll_request(
    topic: str,
    positions: Iterable[tuple[int, int]],
    *,
    session_id: int = NO_SESSION,
    epoch: int = FINAL_EPOCH,
    wait_ms: int = 0,
    partition_size: int = 1 << 20,
) -> bytes:
    """Fetch 7 of (partition, offset) pairs, with or without a session (KIP-227).

    Waits up to `wait_ms` for one byte. partition_size: at most so much of each, but one batch in
    any case.
    """
    parts = [struct.pack(">iqqi", number, at, -1, partition_size) for number, at in positions]
    head = struct.pack(">iiiibii", -1, wait_ms, 1, 1 << 30, 0, session_id, epoch)
    named = string(topic) + struct.pack(">i", len(parts)) + b"".join(parts)
    topics = struct.pack(">i", 1) + named if parts else struct.pack(">i", 0)
    return frame(FETCH, 7, head + topics + struct.pack(">i", 0))


class Polled(NamedTuple):
    """An answer to `poll_request`. error: of the request, or of the first partition that it names.
    partitions: how many it names. partition, records: the first one, its bytes.
    """

    error: int
    session_id: int
    partitions: int = 0
    partition: int = -1
    records: bytes | memoryview = b""


def poll_answer(topic: str, answer: memoryview) -> Polled:
    """First partition in an answer to `poll_request`; its records are a view of it."""
    error, session_id, topics = struct.unpack_from(">hii", answer, 8)
    if error or not topics:
        return Polled(error, session_id)
    at = 18 + 2 + len(topic)
    count, number, error, *_, aborted = struct.unpack_from(">iihqqqi", answer, at)
    at += 38 + 16 * max(aborted, 0)
    (size,) = struct.unpack_from(">i", answer, at)
    return Polled(error, session_id, count, number, answer[at + 4 : at + 4 + max(size, 0)])


def next_offset(records: bytes | memoryview) -> int | None:
    """The offset after the last whole batch; None: there is none."""
    result, at = None, 0
    while len(records) - at >= _BATCH_HEAD:
        base, length, _, _, _, _, last = struct.unpack_from(">qiibIhi", records, at)
        at += 12 + length
        if at <= len(records):
            result = base + last + 1
    return result


def metadata_request(topic: str) -> bytes:
    """Metadata 4 of one topic, which is not to be created."""
    return frame(METADATA, 4, struct.pack(">i", 1) + string(topic) + b"\0")
