"""As much of Kafka's protocol as the measurements need, apart from the code that they measure.

Requests are complete frames with fixed client id and correlation id; old, fixed versions, so that a
position in an answer is a sum. Sizes in bytes.
"""

import struct
import time
from collections.abc import Sequence
from typing import Final

from crc32c import crc32c

PRODUCE: Final = 0
FETCH: Final = 1
METADATA: Final = 3
API_VERSIONS: Final = 18
_CORRELATION: Final = 7


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


def record_batch(values: Sequence[bytes]) -> bytes:
    """An uncompressed batch (magic 2) of records without keys, all of this moment."""
    records = b""
    for n, value in enumerate(values):
        record = b"\0" + varint(0) + varint(n) + varint(-1) + varint(len(value)) + value + varint(0)
        records += varint(len(record)) + record
    now = int(time.time() * 1000)
    checked = struct.pack(">hiqqqhii", 0, len(values) - 1, now, now, -1, -1, -1, len(values))
    checked += records
    head = struct.pack(">iBI", -1, 2, crc32c(checked))
    return struct.pack(">qi", 0, len(head) + len(checked)) + head + checked


def produce_request(topic: str, batch: bytes, acks: int) -> bytes:
    """Produce 7 of one batch to partition 0."""
    head = struct.pack(">hhii", -1, acks, 30_000, 1) + string(topic)
    return frame(PRODUCE, 7, head + struct.pack(">iii", 1, 0, len(batch)) + batch)


def produce_error(topic: str, answer: memoryview) -> int:
    """The error code in an answer to `produce_request`."""
    return int(struct.unpack_from(">h", answer, 4 + 4 + 2 + len(topic) + 4 + 4)[0])


def fetch_request(topic: str, offset: int, size: int) -> bytes:
    """Fetch 4 of partition 0: at least one byte, at most `size`, waiting for 500 ms."""
    head = struct.pack(">iiiibi", -1, 500, 1, size, 0, 1) + string(topic)
    return frame(FETCH, 4, head + struct.pack(">iiqi", 1, 0, offset, size))


def fetch_answer(topic: str, answer: memoryview) -> tuple[int, int, int]:
    """Error code, high watermark and bytes of records in an answer to `fetch_request`."""
    fixed = 4 + 4 + 4 + 2 + len(topic) + 4 + 4
    error, high, _, aborted = struct.unpack_from(">hqqi", answer, fixed)
    (size,) = struct.unpack_from(">i", answer, fixed + 22 + 16 * max(aborted, 0))
    return error, high, size


def metadata_request(topic: str) -> bytes:
    """Metadata 4 of one topic, which is not to be created."""
    return frame(METADATA, 4, struct.pack(">i", 1) + string(topic) + b"\0")
