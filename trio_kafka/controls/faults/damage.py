"""Damaged records and responses, for clients and brokers that must notice.

Each record batch gets a wrong checksum. A damaged response has each byte of its body inverted, so
that no client can read it.
"""

from collections.abc import Callable
from copy import copy
from struct import Struct
from typing import Final

from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import fields_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.replies import Encoded

_SIZE: Final = Struct(">i")
_SIZE_AT: Final = 8  # of a batch: the size of what follows the size
_HEAD: Final = 12  # base offset and size
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_OLD_CRC_AT: Final = 12  # before magic 2
_INVERTED: Final = bytes(255 - n for n in range(256))


def damaged_batches(data: Buffer) -> bytes:
    """Return record batches with wrong checksums. Source: Kafka's record batch format."""
    damaged = bytearray(data)
    position = 0
    while position + _CRC_AT < len(damaged):
        old = damaged[position + _MAGIC_AT] < 2
        damaged[position + (_OLD_CRC_AT if old else _CRC_AT)] ^= 0xFF
        (size,) = _SIZE.unpack_from(damaged, position + _SIZE_AT)
        position += _HEAD + max(size, 0)
    return bytes(damaged)


def with_damaged_records(message: object) -> object:
    """Return a copy of a message without file ranges, with all record batches damaged."""
    return _with_records(message, damaged_batches)


async def with_read_ranges(message: object) -> object:
    """Return a copy of a response that has bytes in the place of file ranges."""
    ranges: list[FileRange] = []

    def note(records: object) -> object:
        if isinstance(records, FileRange):
            ranges.append(records)
        return records

    _with_records(message, note)
    read = {id(part): await part.lease.read(part.position, part.remaining) for part in ranges}
    return _with_records(message, lambda records: read.get(id(records), records))


def damaged_response(message: object, version: int) -> Encoded:
    """Return a response without file ranges, encoded, with every byte inverted."""
    return Encoded(to_bytes(message, version).translate(_INVERTED))


def _with_records(message: object, change: Callable[[Buffer], object]) -> object:
    """Return a copy with changed record fields; null and empty ones stay."""
    changed = copy(message)
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if field.kind == "records" and value is not None and len(value):
            setattr(changed, field.name, change(value))
        elif _has_structs(field) and value:
            setattr(changed, field.name, [_with_records(item, change) for item in value])
    return changed


def _has_structs(field: Field) -> bool:
    return field.kind == "array" and field.of is not None and field.of.struct is not None
