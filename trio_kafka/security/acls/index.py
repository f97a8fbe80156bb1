"""Index of access control entries: decisions without a walk through all entries.

Literal patterns are found by name, prefixes by `PrefixMap`, and in each pattern the entries of a
principal and of every principal. So a decision does not depend on the number of entries, except
for the logarithm of the number of prefixes.
Source: StandardAuthorizerData of Apache Kafka 4.4.0; KIP-290, KIP-679 (any resource of a type).
"""

from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.security.acls.entries import ANYONE, ANYTHING, Acl, PatternType
from trio_kafka.security.acls.hosts import parse_address
from trio_kafka.security.acls.prefixes import PrefixMap
from trio_kafka.security.acls.rules import NO_MASKS, PatternRules, PrincipalRules

_Pattern = tuple[bool, str]  # whether it is literal, and its name
_EVERYTHING: Final[_Pattern] = (True, ANYTHING)
_MOST_ANSWERS: Final = 10_000  # of questions about any resource, kept until the next change


# What entries say about a resource: the operations that they allow and deny, as bits, and whether
# any entry covers the resource, of whatever principal.
Verdict = tuple[int, int, bool]
_NOTHING: Final[Verdict] = (0, 0, False)


@define(eq=False)
class _OneType:
    """Patterns of one type of resource. named: those in which a principal has an entry."""

    literal: dict[str, PatternRules] = field(factory=dict)
    prefixed: PrefixMap[PatternRules] = field(factory=PrefixMap)
    named: dict[str, dict[_Pattern, PatternRules]] = field(factory=dict)

    def covering(self, name: str) -> list[PatternRules]:
        """Return the rules of all patterns that cover a resource.

        The pattern of all resources does not cover names that begin with `*`, as in Kafka, which
        takes it for a literal there. No topic has such a name; a group may have one.
        """
        covering = self.prefixes(name) if self.prefixed else []
        rules = self.literal.get(name)
        if rules is not None:
            covering.append(rules)
        rules = self.literal.get(ANYTHING)
        if rules is not None and not name.startswith(ANYTHING):
            covering.append(rules)
        return covering

    def prefixes(self, name: str) -> list[PatternRules]:
        """Return the rules of all prefixes of a name."""
        rules: list[PatternRules] = []
        prefix = self.prefixed.longest(name)
        while prefix is not None:
            rules.append(prefix.value)
            prefix = prefix.parent
        return rules


class AclIndex:
    """Index of the entries of a cluster. `len`: number of entries."""

    def __init__(self) -> None:
        self._types: dict[int, _OneType] = {}
        self._count = 0
        self._any: dict[tuple[str, str, int, int], bool] = {}

    def __len__(self) -> int:
        return self._count

    # --- changes

    def add(self, acl: Acl) -> None:
        """Add an entry that is not there yet."""
        of_type = self._types.setdefault(acl.resource_type, _OneType())
        is_literal = acl.pattern_type == PatternType.LITERAL
        rules = of_type.literal.get(acl.name) if is_literal else of_type.prefixed.get(acl.name)
        if rules is None:
            rules = PatternRules()
            if is_literal:
                of_type.literal[acl.name] = rules
            else:
                of_type.prefixed.add(acl.name, rules)
        rules.add(acl)
        of_type.named.setdefault(acl.principal, {})[is_literal, acl.name] = rules
        self._count += 1
        self._any.clear()

    def remove(self, acl: Acl) -> None:
        """Remove an entry. Raises KeyError if it is not there."""
        of_type = self._types[acl.resource_type]
        is_literal = acl.pattern_type == PatternType.LITERAL
        patterns = of_type.named[acl.principal]
        rules = patterns[is_literal, acl.name]
        rules.remove(acl)
        if rules.get(acl.principal) is None:
            del patterns[is_literal, acl.name]
            if not patterns:
                del of_type.named[acl.principal]
        if not rules:
            if is_literal:
                del of_type.literal[acl.name]
            else:
                of_type.prefixed.remove(acl.name)
        self._count -= 1
        self._any.clear()

    # --- decisions

    def verdict(self, principal: str, host: str, kind: int, name: str) -> Verdict:
        """Return what the entries say about one resource, for all operations at once.

        principal: as `User:alice`. host: address of the client.
        """
        of_type = self._types.get(kind)
        if of_type is None:
            return _NOTHING
        covering = of_type.covering(name)
        allow = deny = 0
        for rules in covering:
            for of_holder in (rules.get(principal), rules.get(ANYONE)):
                if of_holder is not None:
                    masks = _masks(of_holder, host) if of_holder.hosts else of_holder.masks
                    allow |= masks[0]
                    deny |= masks[1]
        return allow, deny, bool(covering)

    def allows_any(self, principal: str, host: str, operation: int, kind: int) -> bool:
        """Return whether an entry allows the operation on some resource of a type (KIP-679).

        An entry counts unless it is denied on its whole pattern: by the same literal, by a prefix
        of the pattern, or on all resources. Implied operations do not count here, as in Kafka.
        """
        key = (principal, host, operation, kind)
        answer = self._any.get(key)
        if answer is None:
            answer = self._allows_any(_Query((principal, ANYONE), host, 1 << operation), kind)
            if len(self._any) >= _MOST_ANSWERS:
                self._any.clear()
            self._any[key] = answer
        return answer

    def _allows_any(self, query: "_Query", kind: int) -> bool:
        of_type = self._types.get(kind)
        if of_type is None:
            return False
        everything = of_type.literal.get(ANYTHING)
        if everything is not None and query.denied_by(everything):
            return False
        return any(
            query.stated_by(rules.get(holder))
            and (pattern == _EVERYTHING or not _is_dominated(of_type, pattern, query))
            for holder in query.holders
            for pattern, rules in of_type.named.get(holder, {}).items()
        )


def _is_dominated(of_type: _OneType, pattern: _Pattern, query: "_Query") -> bool:
    """Return whether an operation is denied on all resources of a pattern."""
    is_literal, name = pattern
    if is_literal and query.denied_by(of_type.literal[name]):
        return True
    return any(map(query.denied_by, of_type.prefixes(name)))


class _Query(NamedTuple):
    """Question of a client about one operation. holders: principals whose entries hold for it."""

    holders: tuple[str, str]
    host: str
    bit: int

    def denied_by(self, rules: PatternRules) -> bool:
        """Return whether a pattern denies the operation."""
        return any(_masks(rules.get(holder), self.host)[1] & self.bit for holder in self.holders)

    def stated_by(self, rules: PrincipalRules | None) -> bool:
        """Return whether the entries of a principal allow exactly the operation, or all."""
        return bool(_masks(rules, self.host)[2] & self.bit)


def _masks(rules: PrincipalRules | None, host: str) -> tuple[int, ...]:
    """Return allow, deny and stated of a principal's rules for a client at a host."""
    if rules is None:
        return NO_MASKS
    return rules.masks_at(parse_address(host)) if rules.hosts else rules.masks
