"""Replacement of record values in a batch; all other bytes stay.

Sans-IO. Keys, headers, times and offsets are copied as bytes, never decoded and encoded again.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from trio_kafka.records.header import corrupt
from trio_kafka.records.varint import encode_varint, read_varint
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_builtin.mask.rules import Masking

_STEP_RECORDS: Final = 16
_STEP_BYTES: Final = 16 << 10  # bytes of parsed values per step: about 0.5 ms
_NULL: Final = encode_varint(-1)
Change = Callable[[bytes], bytes | None]


class UnreadableError(Exception):
    """The value is not JSON, or too large to be parsed in one step."""


def masked(value: bytes, masking: Masking, largest: int) -> bytes:
    """Mask the fields of a value; the same object if it has none. Raises UnreadableError."""
    if len(value) > largest:
        raise UnreadableError(f"a value of {len(value)} bytes, {largest} are parsed")
    try:
        document, is_unique = _parse(value)
        if not masking.apply(document) and is_unique:
            return value
        return json.dumps(
            document, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def _parse(value: bytes) -> tuple[Any, bool]:
    """Return a document, and False if an object has a name twice: `json` drops all but the last.

    A document that is returned as it was would still show the others.
    """
    is_unique = True

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal is_unique
        fields = dict(pairs)
        is_unique &= len(fields) == len(pairs)
        return fields

    return json.loads(value.decode(), object_pairs_hook=members), is_unique


def with_values(plain: bytes, count: int, change: Change) -> Steps[bytes]:
    """Return decompressed records with the values that `change` returns; null stays null.

    Returns the same object if nothing changes. Raises KafkaError(CORRUPT_MESSAGE), and what
    `change` raises, which is no ValueError.
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
    """Return the position of the value's length."""
    _, at = read_varint(plain, body + 1)  # the timestamp delta, after the attributes
    _, at = read_varint(plain, at)  # the offset delta
    size, at = read_varint(plain, at)
    if size < -1:
        raise ValueError(f"a key of {size} bytes")
    return at + max(size, 0)
