"""Checks of the Host and Origin headers against the names of this plane.

A hostile page can make a browser send requests to this machine: under a name of its own that it
has bound to this address (DNS rebinding), or under the right name from its own origin (CSRF). The
first shows in `Host`, the second in `Origin`. All other access control is the token's job.
Source: RFC 9110 §7.2, RFC 6454 §7.
"""

import re
from typing import Final

from attrs import frozen

from trio_kafka.security.authorizer import is_loopback as is_loopback_address

_AUTHORITY: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s/@\[\]:]+))(?::[0-9]{0,5})?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return True if only this machine reaches `host`; of names, only localhost counts."""
    return host == "localhost" or is_loopback_address(host)


def host_of(authority: str) -> str | None:
    """Return the host in `HOST[:PORT]`, lower case, an IPv6 address without its brackets."""
    match = _AUTHORITY.fullmatch(authority.lower())
    return (match[1] or match[2].rstrip(".")) if match else None


@frozen
class Names:
    """Names of this plane: the hosts of its listeners, and those of `plugin.http.hosts`."""

    names: frozenset[str]

    def accepts(self, authority: str, local: str) -> bool:
        """Return True if a Host header names this plane.

        local: the address that the client connected to; always accepted, as DNS cannot rebind
        an address.
        """
        host = host_of(authority)
        if host is None:
            return False
        if host == local or host in self.names:
            return True
        return is_loopback(local) and host in _LOOPBACK


def same_origin(origin: str, authority: str, *, is_secured: bool = False) -> bool:
    """Return True if `origin` is this plane under the name `authority`.

    is_secured: this plane is asked over TLS. A page without TLS, which a network can forge, is then
    another one. Otherwise the scheme may differ, as a proxy may terminate TLS.
    """
    scheme, _, rest = origin.lower().partition("://")
    schemes = ("https",) if is_secured else ("http", "https")
    return scheme in schemes and rest == authority.lower()
