"""Loopback addresses: tells peers on this machine from all others.

Source: RFC 1122 §3.2.1.3 (all of 127.0.0.0/8), RFC 4291 §2.5.3 (::1) and §2.5.5.2 (IPv4 addresses
in IPv6 notation).
"""

from ipaddress import IPv6Address, ip_address


def is_loopback(address: str) -> bool:
    """Return whether an address is loopback. False for a host name, which can mean any address."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    # Before Python 3.13 a mapped address does not count as loopback itself.
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_loopback
