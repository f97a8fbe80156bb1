"""Authorizer: decides which principal may perform which operation on which resource.

An authorizer is called from the event loop for each decision, so it never waits and takes no
longer than a look into a table. What it decides from is its own matter; the broker asks again for
every request. `ALLOW_ALL` is the built-in one. Code on the hot path compares with it and asks
nothing.
Source: the interface Authorizer of Apache Kafka 4.4.0 (KIP-504, KIP-679).
"""

from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol, runtime_checkable

from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import Resource, ResourceType


@runtime_checkable
class Authorizer(Protocol):
    """Decisions about requests. host: address of the peer, `in-process` for the broker itself."""

    def authorize(
        self, principal: Principal, host: str, operation: Operation, resource: Resource
    ) -> bool:
        """Return whether the principal may perform the operation on the resource."""

    def authorize_any(
        self, principal: Principal, host: str, operation: Operation, kind: ResourceType
    ) -> bool:
        """Return whether the principal may perform the operation on any resource of the type."""


class AllowAll:
    """Authorizer that allows everything."""

    def authorize(self, *_: object, **__: object) -> bool:
        """Return True."""
        return True

    def authorize_any(self, *_: object, **__: object) -> bool:
        """Return True."""
        return True


ALLOW_ALL: Final = AllowAll()


def is_loopback(address: str) -> bool:
    """Return whether an address is loopback. False for a host name, which can mean any address.

    Source: RFC 1122 §3.2.1.3 (127.0.0.0/8), RFC 4291 §2.5.3 (::1), §2.5.5.2 (IPv4 in IPv6).
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    # Before Python 3.13 a mapped address does not count as loopback itself.
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return (mapped or ip).is_loopback
