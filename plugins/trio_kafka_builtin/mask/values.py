"""The values of a batch's records, exchanged without touching anything else of them.

Sans-IO. Keys, headers, times and offsets are copied as the bytes that they are: nothing is decoded
that would be encoded in another way.
"""

import json
from collections.abc import Callable
from typing import Final

from trio_kafka.records.header import corrupt
from trio_kafka.records.varint import encode_varint, read_varint
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_builtin.mask.rules import Masking

_STEP_RECORDS: Final = 16
_STEP_BYTES: Final = 16 << 10  # of values that were parsed: about 0.5 ms
_NULL: Final = encode_varint(-1)
Change = Callable[[bytes], bytes | None]


class UnreadableError(Exception):
    """A value that is no JSON, or is too large to be parsed in a turn of the loop."""


def masked(value: bytes, masking: Masking, largest: int) -> bytes:
    """The value with its fields masked; the same object if it has none. Raises UnreadableError."""
    if len(value) > largest:
        raise UnreadableError(f"a value of {len(value)} bytes, {largest} are parsed")
    try:
        document = json.loads(value.decode())
        if not masking.apply(document):
            return value
        return json.dumps(
            document, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def with_values(plain: bytes, count: int, change: Change) -> Steps[bytes]:
    """The records of a batch, decompressed, with the values that `change` gives; null stays null.

    The same object if nothing changes. Raises KafkaError(CORRUPT_MESSAGE), and what `change` does,
    which is no ValueError.
    """
    parts: list[bytes] = []
    copied = at = looked = 0
    view = memoryview(plain)
    try:
        for number in range(count):
            begin = at
            length, body = read_varint(plain, at)
            end = body + length
            position = _behind_key(plain, body)
            size, value_at = read_varint(plain, position)
            if length < 0 or end > len(plain) or value_at + max(size, 0) > end:
                raise ValueError(f"a record of {length} bytes with a value of {size}")
            at = end
            if size < 0:
                continue
            value = plain[value_at : value_at + size]
            made = change(value)
            looked += size
            if made is not value:
                new = _NULL if made is None else encode_varint(len(made)) + made
                record = b"".join((view[body:position], new, view[value_at + size : end]))
                parts += (bytes(view[copied:begin]), encode_varint(len(record)), record)
                copied = end
            if not (number + 1) % _STEP_RECORDS or looked > _STEP_BYTES:
                looked = 0
                yield
        if at != len(plain):
            raise ValueError(f"{len(plain) - at} bytes after {count} records")
    except (IndexError, ValueError) as error:
        raise corrupt(f"{error}; byte {at} of the records") from error
    if not copied:
        return plain
    parts.append(bytes(view[copied:]))
    return b"".join(parts)


def _behind_key(plain: bytes, body: int) -> int:
    """Where the length of the value stands."""
    _, at = read_varint(plain, body + 1)  # the time; before it the attributes
    _, at = read_varint(plain, at)  # the offset
    size, at = read_varint(plain, at)
    if size < -1:
        raise ValueError(f"a key of {size} bytes")
    return at + max(size, 0)
