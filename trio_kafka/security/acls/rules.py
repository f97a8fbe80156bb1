"""Rules of one principal on one pattern: bit masks of operations, by host.

Bit n of a mask stands for operation n. An ALLOW of READ, WRITE, DELETE or ALTER implies DESCRIBE,
one of ALTER_CONFIGS implies DESCRIBE_CONFIGS. A DENY implies nothing.
Source: StandardAuthorizerData.findResult of Apache Kafka 4.4.0.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from trio_kafka.security.acls.entries import ANYTHING, Acl, PermissionType
from trio_kafka.security.acls.hosts import V6_BITS, Address, Range, parse_range
from trio_kafka.security.operations import Operation, bits

_EVERY: Final = bits(Operation)
_IMPLIED: Final[Mapping[Operation, Operation]] = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}
_KEPT: Final = 4096  # masks that are shared by entries; a cluster has few different ones


class Masks(NamedTuple):
    """Operations as bits. allow: with the implied ones. deny. stated: allowed, none implied.

    allowed, denied: operations of the entries themselves; ALL is one bit here.
    """

    allow: int
    deny: int
    stated: int
    allowed: int
    denied: int


@lru_cache(maxsize=_KEPT)
def _masks_of(allowed: int, denied: int) -> Masks:
    stated = _exact(allowed)
    allow = stated
    for operation, implied in _IMPLIED.items():
        if stated >> operation & 1:
            allow |= 1 << implied
    return Masks(allow, _exact(denied), stated, allowed, denied)


def _exact(operations: int) -> int:
    return operations | _EVERY if operations >> Operation.ALL & 1 else operations


NO_MASKS: Final = _masks_of(0, 0)


class PrincipalRules:
    """Rules by host. masks: those for every host, and the answer for all while `hosts` is empty."""

    __slots__ = ("_ranges", "hosts", "masks")

    def __init__(self) -> None:
        self.masks = NO_MASKS
        self.hosts: dict[str, Masks] = {}
        # By bits and length of the ranges, then by their first bits: the texts of such ranges.
        self._ranges: dict[tuple[int, int], dict[int, set[str]]] | None = None

    def __bool__(self) -> bool:
        return bool(self.hosts) or self.masks is not NO_MASKS

    def add(self, acl: Acl) -> None:
        """Add an entry."""
        if acl.host not in self.hosts and acl.host != ANYTHING:
            self._add_range(acl.host)
        self._set(acl, self._effects(acl.host, acl) | 1 << _bit(acl))

    def remove(self, acl: Acl) -> None:
        """Remove an entry. Raises KeyError."""
        effects = self._effects(acl.host, acl)
        if not effects >> _bit(acl) & 1:
            raise KeyError(acl)
        self._set(acl, effects & ~(1 << _bit(acl)))
        if self.hosts.get(acl.host) is NO_MASKS:
            del self.hosts[acl.host]
            self._remove_range(acl.host)

    def masks_at(self, address: Address) -> tuple[int, int, int]:
        """Return allow, deny and stated for a client at an address.

        No IPv4 range has 0.0.0.0, as in Kafka.
        """
        allow, deny, stated, _, _ = self.masks
        for masks in self._at(address):
            allow |= masks.allow
            deny |= masks.deny
            stated |= masks.stated
        return allow, deny, stated

    def _at(self, address: Address) -> Iterator[Masks]:
        exact = self.hosts.get(address.text)
        if exact is not None:
            yield exact
        for (width, length), texts in (self._ranges or {}).items():
            if width == address.bits and (address.number or width == V6_BITS):
                for host in texts.get(address.number >> (width - length), ()):
                    yield self.hosts[host]

    def _effects(self, host: str, acl: Acl) -> int:
        masks = self.masks if host == ANYTHING else self.hosts.get(host, NO_MASKS)
        return masks.allowed if acl.permission == PermissionType.ALLOW else masks.denied

    def _set(self, acl: Acl, effects: int) -> None:
        old = self.masks if acl.host == ANYTHING else self.hosts.get(acl.host, NO_MASKS)
        if acl.permission == PermissionType.ALLOW:
            masks = _masks_of(effects, old.denied)
        else:
            masks = _masks_of(old.allowed, effects)
        if masks == NO_MASKS:
            masks = NO_MASKS  # the cache may have made another one
        if acl.host == ANYTHING:
            self.masks = masks
        else:
            self.hosts[acl.host] = masks

    def _add_range(self, host: str) -> None:
        ip_range = _range(host)
        if ip_range is not None:
            if self._ranges is None:
                self._ranges = {}
            same_length = self._ranges.setdefault((ip_range.bits, ip_range.length), {})
            same_length.setdefault(ip_range.number, set()).add(host)

    def _remove_range(self, host: str) -> None:
        ip_range = _range(host)
        if ip_range is None or self._ranges is None:
            return
        same_length = self._ranges[ip_range.bits, ip_range.length]
        texts = same_length[ip_range.number]
        texts.remove(host)
        if not texts:
            del same_length[ip_range.number]
        if not same_length:
            del self._ranges[ip_range.bits, ip_range.length]


class PatternRules(dict[str, PrincipalRules]):
    """Rules of one pattern, by principal. Not empty while an index has it."""

    __slots__ = ()

    def add(self, acl: Acl) -> None:
        """Add an entry."""
        rules = self.get(acl.principal)
        if rules is None:
            rules = self[acl.principal] = PrincipalRules()
        rules.add(acl)

    def remove(self, acl: Acl) -> None:
        """Remove an entry. Raises KeyError."""
        rules = self[acl.principal]
        rules.remove(acl)
        if not rules:
            del self[acl.principal]


def _bit(acl: Acl) -> int:
    return acl.operation & 0xFF  # a release may have operations that this one does not know


def _range(host: str) -> Range | None:
    """Return the range of an entry's host; None for other hosts, and ranges that are none."""
    if "/" not in host:
        return None
    try:
        return parse_range(host)
    except ValueError:
        return None
