"""Zig-zag integers of records: 7 bits a byte, the low group first.

Reading raises IndexError at the end of the data and ValueError for a number that is too long.
Callers add the position.
"""

from functools import lru_cache
from typing import Final

from trio_kafka.world.protocols import Buffer

_LONGEST: Final = 10
_KEPT: Final = 4096  # sizes and offsets are the same ones all the time: a quarter of the time


@lru_cache(maxsize=_KEPT)
def encode_varint(value: int) -> bytes:
    """Encode a signed number of up to 64 bits in zig-zag form: 1 to 10 bytes."""
    number = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(data: Buffer, position: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    byte = data[position]
    position += 1
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position
    number = byte & 127
    shift = 7
    last = position + _LONGEST - 1
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            break
        if position == last:
            raise ValueError(f"a number of more than {_LONGEST} bytes")
        shift += 7
    if number >> 64:
        raise ValueError("a number of more than 64 bits")
    return (number >> 1) ^ -(number & 1), position
