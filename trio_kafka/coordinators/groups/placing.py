"""Which partition of `__consumer_offsets` a group's records stand in."""

from functools import lru_cache

_UINT32 = 0xFFFFFFFF
_SIGN = 0x80000000
_SMALLEST = -0x80000000


def java_hash(text: str) -> int:
    """`String.hashCode` of Java: over the UTF-16 units of the text, as an int of 32 bits."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        value = (value * 31 + (data[at] << 8 | data[at + 1])) & _UINT32
    return value - (value & _SIGN) * 2


@lru_cache(maxsize=4096)
def partition_of(group_id: str, count: int) -> int:
    """Of `count` partitions. The one int without an absolute value counts as 0."""
    value = java_hash(group_id)
    return 0 if value == _SMALLEST else abs(value) % count
