"""Checks of a request against the conditions of a rule, and of the rule's triggers."""

from fnmatch import fnmatchcase
from random import Random  # noqa: TID251 - seeded by a rule

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.controls.faults.asked_parts import names_in
from trio_kafka.controls.faults.parts import NamedParts, Names
from trio_kafka.controls.faults.rule import FaultRule
from trio_kafka.controls.running import KIT_CLIENT
from trio_kafka.requests.context import Context


def names_match(rule: FaultRule, names: Names) -> bool:
    """Return whether the names of a part satisfy all conditions of a rule about parts."""
    return (
        (rule.partition is None or names.partition == rule.partition)
        and _fits(rule.topic, names.topic)
        and _fits(rule.group, names.group)
        and _fits(rule.transactional_id, names.transactional_id)
    )


def request_matches(
    rule: FaultRule, request: object, context: Context, *, parts: NamedParts
) -> bool:
    """Return whether a request of the rule's APIs matches."""
    client_id = context.client_id
    if client_id == KIT_CLIENT and rule.client_id != KIT_CLIENT:
        return False
    return (
        _has_version(rule, context.version)
        and _fits(rule.client_id, client_id)
        and (rule.principal is None or _fits(rule.principal, context.principal))
        and (rule.listener is None or _fits(rule.listener, context.listener))
        and _names_parts(rule, request, context, parts=parts)
        and (rule.where is None or bool(rule.where(request, context)))
    )


def _names_parts(rule: FaultRule, request: object, context: Context, *, parts: NamedParts) -> bool:
    """Return whether a request names a part that the rule is about."""
    if not rule.names_parts:
        return True
    return any(names_match(rule, names) for names in names_in(request, context, parts))


def _has_version(rule: FaultRule, version: int) -> bool:
    first, last = rule.versions
    return first <= version <= last


def _fits(pattern: str | None, name: str | None) -> bool:
    return pattern is None or (name is not None and fnmatchcase(name, pattern))


@define(eq=False)
class Trigger:
    """Triggers of one rule. seen: matching requests. hits: requests that got the fault."""

    rule: FaultRule
    random: Random
    seen: int = 0
    hits: int = 0
    _added: float = field(factory=trio.current_time, init=False)

    @property
    def is_open(self) -> bool:
        """True from the begin of the rule's time to its end."""
        begin_s, end_s = self.rule.window_s
        return begin_s <= trio.current_time() - self._added < end_s

    @property
    def is_spent(self) -> bool:
        """True after the last hit that the rule may have."""
        return self.rule.times is not None and self.hits >= self.rule.times

    def see(self) -> bool:
        """Count a matching request; return whether the rule may apply to it."""
        rule = self.rule
        self.seen += 1
        turn = self.seen - rule.after - 1
        if turn < 0 or turn % rule.every:
            return False
        is_drawn = rule.probability >= 1 or self.random.random() < rule.probability
        return is_drawn and not self.is_spent

    def draw_delay_s(self) -> float:
        """Return the delay of the next hit."""
        least_s, most_s = self.rule.delays_s
        return least_s if least_s == most_s else self.random.uniform(least_s, most_s)
