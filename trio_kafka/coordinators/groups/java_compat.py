"""Values that Kafka computes with Java's rules: hashes of strings and texts of addresses."""

from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final

_UINT32: Final = 0xFFFFFFFF
_SIGN: Final = 0x80000000
_SMALLEST: Final = -0x80000000


def java_hash(text: str) -> int:
    """Return `String.hashCode` of Java, a signed 32-bit integer over the UTF-16 units."""
    value = 0
    data = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(data), 2):
        value = (value * 31 + (data[at] << 8 | data[at + 1])) & _UINT32
    return value - (value & _SIGN) * 2


@lru_cache(maxsize=4096)
def partition_of(group_id: str, count: int) -> int:
    """Return the partition of `__consumer_offsets`, of `count`, that holds a group's records.

    The smallest integer has no absolute value and counts as 0, as in Kafka.
    """
    value = java_hash(group_id)
    return 0 if value == _SMALLEST else abs(value) % count


@lru_cache(maxsize=4096)
def client_host(host: str) -> str:
    """Return an address as Java prints it without a name: `/10.0.0.1`, `/0:0:0:0:0:0:0:1`."""
    if ":" not in host:
        return f"/{host}"
    address = int(IPv6Address(host.partition("%")[0]))
    return "/" + ":".join(f"{address >> shift & 0xFFFF:x}" for shift in range(112, -1, -16))
