"""Partition of a key, as Kafka's Java producer chooses it."""

from typing import Final

_M: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the unsigned 32-bit hash by which Kafka's Java producer chooses partitions."""
    size = len(data)
    h = 0x9747B28C ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if size > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, count: int) -> int:
    """Return the partition of a key in a topic of `count` partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % count
