"""Subscriptions of a group: members by topic, and regular expressions with the topics they match.

Source: ModernGroup, SubscriptionCount, ResolvedRegularExpression of Apache Kafka 4.4.0.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_NEVER: Final = -(1 << 63)


@frozen
class Resolved:
    """Topics that match a regular expression. version: offset of the metadata image. timestamp_ms:
    of the search.
    """

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@frozen
class Count:
    """Number of members that name a topic, and of resolved expressions that match it."""

    by_name: int = 0
    by_regex: int = 0


Counts = dict[str, Count]
_A_STEP: Final = 500  # topics counted in one step: 0.3 ms
_NONE: Final = Count()
_count: Final = lru_cache(maxsize=1000)(Count)  # most topics have equal ones


@define(eq=False)
class Subscriptions:
    """topics: subscribed ones. regexes: members by expression. resolved: matches of expressions."""

    topics: Counts = field(factory=dict)
    regexes: dict[str, int] = field(factory=dict)
    resolved: dict[str, Resolved] = field(factory=dict)

    # Replay

    def replace(self, before: Member | None, after: Member | None) -> None:
        """Note that a member joined, changed or left."""
        old = () if before is None else before.topics
        new = () if after is None else after.topics
        if old != new:
            self._count(new, 1, 0)
            self._count(old, -1, 0)
        old_regex = "" if before is None else before.regex
        new_regex = "" if after is None else after.regex
        if old_regex != new_regex:
            add_one(self.regexes, old_regex, -1)
            add_one(self.regexes, new_regex, 1)

    def resolve(self, regex: str, resolved: Resolved | None) -> None:
        """Set the matches of an expression; None: no member subscribes by it any more."""
        before = self.resolved.pop(regex, None)
        if resolved is not None:
            self.resolved[regex] = resolved
            self._count(resolved.topics, 0, 1)
        if before is not None:
            self._count(before.topics, 0, -1)

    def _count(self, topics: Iterable[str], by_name: int, by_regex: int) -> None:
        for topic in topics:
            add(self.topics, topic, by_name, by_regex)

    # Counts after a change

    def topics_with(self, before: Member | None, after: Member) -> Steps[Counts]:
        """Return the counts after a change of one member. An expression that only this member had,
        and that it gives up, does not count any more.
        """
        counts = dict(self.topics)
        old = () if before is None else before.topics
        yield from _add_all(counts, old, -1, 0)
        yield from _add_all(counts, after.topics, 1, 0)
        regex = "" if before is None else before.regex
        if regex and regex != after.regex and self.regexes.get(regex) == 1:
            yield from self._forget(counts, regex)
        return counts

    def topics_without(self, members: Iterable[Member], regexes: Iterable[str]) -> Steps[Counts]:
        """Return the counts without members that leave, and without the expressions that go with
        them.
        """
        counts = dict(self.topics)
        for member in members:
            yield from _add_all(counts, member.topics, -1, 0)
        for regex in regexes:
            yield from self._forget(counts, regex)
        return counts

    def topics_if_resolved(self, by_regex: Mapping[str, Resolved]) -> Steps[Counts]:
        """Return the counts after expressions get these matches."""
        counts = dict(self.topics)
        for regex, resolved in by_regex.items():
            yield from self._forget(counts, regex)
            yield from _add_all(counts, resolved.topics, 0, 1)
        return counts

    def _forget(self, counts: Counts, regex: str) -> Steps[None]:
        if regex in self.resolved:
            yield from _add_all(counts, self.resolved[regex].topics, 0, -1)

    def regexes_with(self, before: Member | None, after: Member) -> dict[str, int]:
        """Return the members by expression after a change of one member."""
        counts = dict(self.regexes)
        add_one(counts, "" if before is None else before.regex, -1)
        add_one(counts, after.regex, 1)
        return counts

    # Questions

    def names(self, member: Member) -> Iterable[str]:
        """Return the topics that a member subscribes to, in order, whether they exist or not. An
        unresolved expression matches nothing.
        """
        resolved = self.resolved.get(member.regex) if member.regex else None
        if resolved is None or not resolved.topics:
            return member.topics
        return sorted(resolved.topics.union(member.topics))

    @property
    def refreshed_ms(self) -> int:
        """Time of the last search for expressions."""
        return max((resolved.timestamp_ms for resolved in self.resolved.values()), default=_NEVER)

    @property
    def version(self) -> int:
        """Oldest metadata version of the resolved expressions."""
        return min((resolved.version for resolved in self.resolved.values()), default=0)


def homogeneous(regexes: Mapping[str, int], topics: Counts, members: int) -> bool:
    """Return whether all members subscribe to the same topics, as far as counts show it."""
    if not regexes:
        return all(count.by_name == members for count in topics.values())
    if len(regexes) > 1 or next(iter(regexes.values())) != members:
        return False
    return all(count.by_regex == 1 and not count.by_name for count in topics.values())


def _add_all(counts: Counts, topics: Iterable[str], by_name: int, by_regex: int) -> Steps[None]:
    """Add to the counts of many topics, in steps."""
    for chunk in in_slices(topics, _A_STEP):
        for topic in chunk:
            add(counts, topic, by_name, by_regex)
        if len(chunk) == _A_STEP:
            yield


def add(counts: Counts, topic: str, by_name: int, by_regex: int) -> None:
    """Add to the counts of a topic; remove it if none is left."""
    before = counts.get(topic, _NONE)
    after = _count(before.by_name + by_name, before.by_regex + by_regex)
    if after.by_name > 0 or after.by_regex > 0:
        counts[topic] = after
    else:
        counts.pop(topic, None)


def add_one(counts: dict[str, int], name: str | None, number: int) -> None:
    """Add to the count of a name; remove it if none is left. An empty name is not counted."""
    if not name:
        return
    count = counts.get(name, 0) + number
    if count > 0:
        counts[name] = count
    else:
        counts.pop(name, None)
