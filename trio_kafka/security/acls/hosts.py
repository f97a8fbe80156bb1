"""Hosts of access control entries: `*`, an address, or a range in CIDR notation (KIP-1276).

Kafka compares the host of an entry with Java's text of the client's address. Java writes IPv6
addresses without `::` (`0:0:0:0:0:0:0:1`) and IPv4 addresses in IPv6 as IPv4. An entry for `::1`
therefore matches no client, in Kafka as here; the range `::1/128` does.
Source: StandardAuthorizerData and CidrUtils of Apache Kafka 4.4.0 (Apache Commons Net's
SubnetUtils and SubnetUtils6), Inet6Address.getHostAddress of Java 17.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, NamedTuple

_V4_RANGE: Final = re.compile(
    r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})/([0-9]{1,2})"
)
V4_BITS: Final = 32
V6_BITS: Final = 128
_KEPT: Final = 4096  # addresses of clients whose forms are kept


class Address(NamedTuple):
    """Address of a client. text: Java's. bits: 32 or 128; 0: no address."""

    text: str
    bits: int
    number: int


class Range(NamedTuple):
    """Range of addresses: those of `bits` bits whose first `length` bits are those of `number`."""

    bits: int
    length: int
    number: int

    def first_bits(self, number: int) -> int:
        """Return the bits of an address that the range compares."""
        return number >> (self.bits - self.length)


@lru_cache(maxsize=_KEPT)
def parse_address(host: str) -> Address:
    """Return the address of a client. host: as the socket has it; it may be a name, too."""
    address, percent, zone = host.partition("%")
    try:
        if ":" not in address:
            return Address(host, V4_BITS, int(IPv4Address(address)))
        ip = IPv6Address(address)
    except AddressValueError:
        return Address(host, 0, 0)
    if ip.ipv4_mapped is not None:
        return Address(str(ip.ipv4_mapped), V4_BITS, int(ip.ipv4_mapped))
    groups = (int(group, 16) for group in ip.exploded.split(":"))
    return Address(":".join(f"{group:x}" for group in groups) + percent + zone, V6_BITS, int(ip))


def parse_range(text: str) -> Range:
    """Return the range of a text with a slash. Raises ValueError with the reason."""
    return _v6_range(text) if ":" in text else _v4_range(text)


def _v4_range(text: str) -> Range:
    match = _V4_RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text}: expected four numbers and a length, such as 10.1.0.0/16")
    *parts, length = map(int, match.groups())
    if max(parts) > 255:
        raise ValueError(f"{text}: expected numbers up to 255")
    if length > V4_BITS:
        raise ValueError(f"{text}: expected a length up to {V4_BITS}")
    range_of_all = Range(V4_BITS, length, 0)
    return range_of_all._replace(
        number=range_of_all.first_bits(int.from_bytes(bytes(parts), "big"))
    )


def _v6_range(text: str) -> Range:
    address, slash, length_text = text.partition("/")
    if not slash:
        raise ValueError(f"{text}: expected a length, such as fd00::/8")
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", length_text):
        raise ValueError(f"{text}: expected a number behind the slash")
    if not 0 <= int(length_text) <= V6_BITS:
        raise ValueError(f"{text}: expected a length from 0 to {V6_BITS}")
    parsed = parse_address(address)
    if parsed.bits != V6_BITS:
        raise ValueError(f"{text}: expected an IPv6 address before the slash")
    range_of_all = Range(V6_BITS, int(length_text), 0)
    return range_of_all._replace(number=range_of_all.first_bits(parsed.number))
