"""Who a request says it is for: the Host and Origin headers, against what this plane is called.

A page of a stranger can make a browser ask this machine, by a name of its own that it has bound to
this machine's address (DNS rebinding), or by the right name from a page of its own (CSRF): the
first shows in `Host`, the second in `Origin`. Nobody else is kept out by this; that is the token's
part. Source: RFC 9110 §7.2, RFC 6454 §7.
"""

import re
from typing import Final

from attrs import frozen

from trio_kafka.security.loopback import is_loopback as is_loopback_address

_AUTHORITY: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s/@\[\]:]+))(?::[0-9]{0,5})?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches `host`; names but localhost may be anything."""
    return host == "localhost" or is_loopback_address(host)


def host_of(authority: str) -> str | None:
    """The host in `HOST[:PORT]`, lower case, an IPv6 address without its brackets."""
    match = _AUTHORITY.fullmatch(authority.lower())
    return (match[1] or match[2].rstrip(".")) if match else None


@frozen
class Names:
    """What this plane may be called: the hosts it was told to bind, and those it was told of."""

    names: frozenset[str]

    def accepts(self, authority: str, local: str) -> bool:
        """Whether a Host header names this plane.

        local: the address by which the client has reached it. An address is no name that a
        stranger could have bound.
        """
        host = host_of(authority)
        if host is None:
            return False
        if host == local or host in self.names:
            return True
        return is_loopback(local) and host in _LOOPBACK


def same_origin(origin: str, authority: str) -> bool:
    """Whether a page of `origin` is one of this plane's own, which was asked for as `authority`.

    The scheme may differ: a proxy may speak TLS.
    """
    scheme, _, rest = origin.lower().partition("://")
    return scheme in ("http", "https") and rest == authority.lower()
