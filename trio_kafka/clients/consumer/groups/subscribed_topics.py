"""Topics of a member of a classic group, and what it needs of their metadata.

A member subscribes to names, or to those that match a pattern here. Its leader needs the numbers of
partitions, and the racks of replicas if a member has one (KIP-881), of the topics of all members.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.consumer.groups.assignors.racks import NO_RACKS, Racks
from trio_kafka.clients.consumer.groups.assignors.values import Counts, Members
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.clients.metadata.refresh import Metadata
from trio_kafka.model import TopicPartition

_GROUP: Final = "group"
_METADATA_S: Final = 5.0  # for topics of other members, which this one may not see


@frozen(kw_only=True)
class TopicsOfGroup:
    """Partitions of the topics of all members. racks: none if no member has one.

    names: of the topics, also those of which nothing is known yet.
    """

    counts: Mapping[str, int]
    racks: Racks = NO_RACKS
    names: Collection[str] = ()


@define(eq=False, kw_only=True)
class SubscribedTopics:
    """Subscription of one member. joined: the names with which it has joined.

    watches_racks: whether, as a leader, it joins again when the racks of replicas have changed.
    led: topics of the group, if it leads.
    """

    metadata: Metadata
    excludes_internal: bool
    watches_racks: bool
    led: TopicsOfGroup | None = field(default=None, init=False)
    joined: tuple[str, ...] = field(default=(), init=False)
    _names: tuple[str, ...] = field(default=(), init=False)
    _pattern: re.Pattern[str] | None = field(default=None, init=False)
    _looked_at: int = field(default=-1, init=False)  # update of the metadata

    def subscribe(self, names: tuple[str, ...] | None, pattern: str | None) -> None:
        """Subscribe to names, or to a pattern, from the next join on."""
        self._names = names or ()
        self._pattern = None if pattern is None else re.compile(pattern)

    async def join(self) -> tuple[str, ...]:
        """Return the names to join with. Topics of other members matter no more until `lead`."""
        self.metadata.follow(_GROUP, ())
        await trio.lowlevel.checkpoint()
        if self._pattern is not None and not self.metadata.cache.updates:
            with trio.move_on_after(_METADATA_S):
                await self.metadata.wait_change()
        self.joined = self._matching()
        return self.joined

    async def lead(self, members: Members) -> TopicsOfGroup:
        """Return the partitions of all topics that members subscribe to, as their leader."""
        names = sorted({name for member in members for name in member.topics})
        self.metadata.follow(_GROUP, names)
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(_METADATA_S):
            for name in names:
                while self.metadata.topic_nowait(name) is None:
                    await self.metadata.wait_change()
        cache = self.metadata.cache
        counts = _counts(cache, names)
        has_racks = any(member.rack for member in members)
        racks = replica_racks(cache, counts) if has_racks else NO_RACKS
        self.led = TopicsOfGroup(counts=counts, racks=racks, names=names)
        self._looked_at = cache.updates
        return self.led

    def has_changed(self) -> bool:
        """Return whether topics or, for the leader, their partitions have changed."""
        if self._matching() != self.joined:
            return True
        led, cache = self.led, self.metadata.cache
        if led is None or self._looked_at == cache.updates:
            return False
        self._looked_at = cache.updates
        if _counts(cache, led.names) != led.counts:
            return True
        has_racks = self.watches_racks and bool(led.racks)
        return has_racks and replica_racks(cache, led.counts) != led.racks

    def _matching(self) -> tuple[str, ...]:
        if self._pattern is None:
            return self._names
        match, hidden = self._pattern.fullmatch, self.excludes_internal
        topics = self.metadata.cache.topics.values()
        return tuple(
            sorted(
                topic.name
                for topic in topics
                if match(topic.name) and not (hidden and topic.is_internal)
            )
        )


def _counts(cache: MetadataCache, names: Iterable[str]) -> dict[str, int]:
    """Return the numbers of partitions; none of topics that do not exist, or are not known yet."""
    topics = [cache.topics[name] for name in names if name in cache.topics]
    return {topic.name: len(topic.partitions) for topic in topics if topic.partitions}


def replica_racks(cache: MetadataCache, counts: Counts) -> Racks:
    """Return the racks of the replicas of all partitions; none if no broker has a rack."""
    racks = {node: address.rack for node, address in cache.brokers.items() if address.rack}
    if not racks:
        return NO_RACKS
    return {
        TopicPartition(topic, number): frozenset(
            racks[node] for node in leader.replicas if node in racks
        )
        for topic in counts
        if topic in cache.topics
        for number, leader in cache.topics[topic].partitions.items()
    }
