"""Who subscribes to what in a group: counts by topic, and regular expressions with what they match.

Source: ModernGroup, SubscriptionCount, ResolvedRegularExpression of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer.member import Member

_NEVER: Final = -(1 << 63)


@frozen
class Resolved:
    """Topics that a regular expression matched. version: offset of the metadata image.

    timestamp_ms: when they were looked through.
    """

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@frozen
class Count:
    """Members that name a topic, and resolved expressions that match it."""

    by_name: int = 0
    by_regex: int = 0


Counts = dict[str, Count]
_NONE: Final = Count()


def _ignore(_topic: str) -> None:
    """Nobody wants to know."""


@define(eq=False)
class Subscriptions:
    """topics: those that anybody subscribes to. regexes: members by expression. resolved: what is
    known of topic_regexes.

    appeared, vanished: told of topics with a first subscriber, and of those whose last one is gone.
    """

    topics: Counts = field(factory=dict)
    regexes: dict[str, int] = field(factory=dict)
    resolved: dict[str, Resolved] = field(factory=dict)
    appeared: Callable[[str], None] = _ignore
    vanished: Callable[[str], None] = _ignore

    # Replay

    def replace(self, before: Member | None, after: Member | None) -> None:
        """A member has come, changed or gone."""
        old = () if before is None else before.topics
        new = () if after is None else after.topics
        if old != new:
            # In this order: what is in both does not vanish in between.
            self._count(new, 1, 0)
            self._count(old, -1, 0)
        old_regex = "" if before is None else before.regex
        new_regex = "" if after is None else after.regex
        if old_regex != new_regex:
            add_one(self.regexes, old_regex, -1)
            add_one(self.regexes, new_regex, 1)

    def resolve(self, regex: str, found: Resolved | None) -> None:
        """What an expression matches now; None: nobody asks any more."""
        before = self.resolved.pop(regex, None)
        if found is not None:
            self.resolved[regex] = found
            self._count(found.topics, 0, 1)
        if before is not None:
            self._count(before.topics, 0, -1)

    def _count(self, topics: Iterable[str], by_name: int, by_regex: int) -> None:
        for topic in topics:
            known = topic in self.topics
            add(self.topics, topic, by_name, by_regex)
            if known and topic not in self.topics:
                self.vanished(topic)
            elif not known and topic in self.topics:
                self.appeared(topic)

    # What there would be

    def topics_with(self, before: Member | None, after: Member) -> Counts:
        """The counts with a member that is about to change. An expression of which it is the only
        subscriber, and which it gives up, no longer counts.
        """
        counts = dict(self.topics)
        old = () if before is None else before.topics
        for topic in old:
            add(counts, topic, -1, 0)
        for topic in after.topics:
            add(counts, topic, 1, 0)
        regex = "" if before is None else before.regex
        if regex and regex != after.regex and self.regexes.get(regex) == 1:
            self._forget(counts, regex)
        return counts

    def topics_without(self, members: Iterable[Member], regexes: Iterable[str]) -> Counts:
        """The counts without members that are about to go, and expressions that go with them."""
        counts = dict(self.topics)
        for member in members:
            for topic in member.topics:
                add(counts, topic, -1, 0)
        for regex in regexes:
            self._forget(counts, regex)
        return counts

    def topics_if_resolved(self, found: Mapping[str, Resolved]) -> Counts:
        """The counts when expressions match something else."""
        counts = dict(self.topics)
        for regex, resolved in found.items():
            self._forget(counts, regex)
            for topic in resolved.topics:
                add(counts, topic, 0, 1)
        return counts

    def _forget(self, counts: Counts, regex: str) -> None:
        if regex in self.resolved:
            for topic in self.resolved[regex].topics:
                add(counts, topic, 0, -1)

    def regexes_with(self, before: Member | None, after: Member) -> dict[str, int]:
        """Members by expression, with one that is about to change."""
        counts = dict(self.regexes)
        add_one(counts, "" if before is None else before.regex, -1)
        add_one(counts, after.regex, 1)
        return counts

    # Questions

    def names(self, member: Member) -> Iterable[str]:
        """All topics that a member subscribes to, whether they exist or not, in order.

        An expression that is not resolved yet matches nothing.
        """
        resolved = self.resolved.get(member.regex) if member.regex else None
        if resolved is None or not resolved.topics:
            return member.topics
        return sorted(resolved.topics.union(member.topics))

    @property
    def refreshed_ms(self) -> int:
        """When expressions were looked through last."""
        return max((one.timestamp_ms for one in self.resolved.values()), default=_NEVER)

    @property
    def version(self) -> int:
        """The metadata that they were looked through in, at least."""
        return min((one.version for one in self.resolved.values()), default=0)


def homogeneous(regexes: Mapping[str, int], topics: Counts, members: int) -> bool:
    """Whether all members subscribe to the same topics, as far as counts can tell it."""
    if not regexes:
        return all(count.by_name == members for count in topics.values())
    if len(regexes) > 1 or next(iter(regexes.values())) != members:
        return False
    return all(count.by_regex == 1 and not count.by_name for count in topics.values())


def add(counts: Counts, topic: str, by_name: int, by_regex: int) -> None:
    """Add to the counts of a topic; it is left out where none is left."""
    before = counts.get(topic, _NONE)
    after = Count(before.by_name + by_name, before.by_regex + by_regex)
    if after.by_name > 0 or after.by_regex > 0:
        counts[topic] = after
    else:
        counts.pop(topic, None)


def add_one(counts: dict[str, int], name: str | None, number: int) -> None:
    """Add to a count; no name has none, and none is left out."""
    if not name:
        return
    left = counts.get(name, 0) + number
    if left > 0:
        counts[name] = left
    else:
        counts.pop(name, None)
