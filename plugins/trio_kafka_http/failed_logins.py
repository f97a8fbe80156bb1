"""Limit of failed logins: by address, and by address and user.

Each key has a number of attempts, which comes back one by one. An attempt is taken before the
password is checked, so that many at once do not pass together, and given back if it was right.
A user's name alone is no key: strangers could lock the user out.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures

_REFILL_S: Final = 6.0  # time in which one attempt comes back
_MOST_KEYS: Final = 1024
_DIGITS: Final = 32  # of a hash
_IPV6_NETWORK: Final = 64  # bits: one machine has all addresses of such a network


@define(eq=False)
class Attempts:
    """Table of attempts by key, of bounded size: the key used longest ago is forgotten.

    burst: attempts of a key that was not used for a while.
    """

    burst: int
    _keys: OrderedDict[str, tuple[float, float]] = field(factory=OrderedDict, init=False)

    def __len__(self) -> int:
        return len(self._keys)

    def wait_s(self, key: str, now: float) -> float:
        """Return the seconds until the key has an attempt; 0: it has one."""
        return max((1 - self._attempts_of(key, now)) * _REFILL_S, 0.0)

    def take(self, key: str, now: float, number: int = 1) -> None:
        """Take attempts; a negative number gives them back."""
        self._keys[key] = (min(self._attempts_of(key, now) - number, self.burst), now)
        self._keys.move_to_end(key)
        if len(self._keys) > _MOST_KEYS:
            self._keys.popitem(last=False)

    def _attempts_of(self, key: str, now: float) -> float:
        attempts, at = self._keys.get(key, (self.burst, now))
        return min(attempts + (now - at) / _REFILL_S, self.burst)


class FailedLogins:
    """Limit of failed logins. now: seconds of a clock that only moves forward."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._addresses = Attempts(20)
        self._users = Attempts(10)

    def wait_s(self, address: str, user: str) -> int:
        """Return the seconds until another login may be tried; 0: now."""
        now, network = self._now(), _network_of(address)
        by_address = self._addresses.wait_s(network, now)
        return ceil(max(by_address, self._users.wait_s(_key(network, user), now)))

    def take(self, address: str, user: str, number: int = 1) -> None:
        """Count an attempt that may fail; -1: it was right after all."""
        now, network = self._now(), _network_of(address)
        self._addresses.take(network, now, number)
        self._users.take(_key(network, user), now, number)

    def figures(self) -> Figures:
        return {"addresses": len(self._addresses), "users": len(self._users), "bound": _MOST_KEYS}


def _key(network: str, user: str) -> str:
    # A hash: some people type their password as the user.
    return hashlib.sha256(f"{network} {user}".encode()).hexdigest()[:_DIGITS]


def _network_of(address: str) -> str:
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if not isinstance(ip, IPv6Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return f"{int(ip) >> (128 - _IPV6_NETWORK):x}::"
