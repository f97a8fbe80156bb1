"""Metadata of the topics that a client uses, with their ages. Does no I/O, and uses no clock.

Theory of operation. A client notes the topics that it uses. `due` says when to ask for them: at
once for a new topic, whatever back-off others have; soon if something has shown that the metadata
are wrong, or a topic that is followed or a leader of it does not exist yet, but not before the
back-off has passed; else when they have reached their age. A topic that is new while a request is
in flight needs another request. An answer with an older leader epoch than the known one does not
replace it: brokers learn of leaders at different times (KIP-320). A hint in another response
(KIP-951) replaces the leader at once.
Source: Metadata.handleMetadataResponse of Apache Kafka 4.4.0, for the errors that ask again.
"""

from collections.abc import Collection, Iterable, Mapping
from math import nan
from typing import Final

from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import error_of
from trio_kafka.clients.metadata.values import BrokerAddress, PartitionLeader, TopicMetadata
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID, Endpoint
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

_NEVER: Final = float("inf")
_LONG_AGO: Final = float("-inf")


@define(eq=False, kw_only=True)
class MetadataCache:
    """Brokers, and topics with their leaders.

    max_age_s: of an answer. backoff: pauses between attempts. idle_s: time without use after which
    a topic is dropped; infinite: never. creates_topics: ask the broker to create missing topics.
    all_topics: ask for every topic of the cluster, for subscriptions by pattern.
    updates: number of changes so far, also those by hints.
    """

    max_age_s: float = 300.0
    backoff: Backoff = field(factory=lambda: Backoff(0.1, 1.0))
    idle_s: float = _NEVER
    creates_topics: bool = False
    all_topics: bool = False
    brokers: dict[int, BrokerAddress] = field(factory=dict, init=False)
    topics: dict[str, TopicMetadata] = field(factory=dict, init=False)
    cluster_id: str | None = field(default=None, init=False)
    updates: int = field(default=0, init=False)
    _used: dict[str, float] = field(factory=dict, init=False)
    _names: dict[bytes, str] = field(factory=dict, init=False)
    _followed: dict[str, frozenset[str]] = field(factory=dict, init=False)  # by their owners
    _new: set[str] = field(factory=set, init=False)  # in no request yet
    _stale: bool = field(default=False, init=False)
    _answered: float = field(default=_LONG_AGO, init=False)
    _not_before: float = field(default=_LONG_AGO, init=False)
    _attempts: int = field(default=0, init=False)

    def use(self, name: str, now: float) -> TopicMetadata | None:
        """Note that a topic is used; return it if its partitions are known."""
        if name not in self._used:
            self._new.add(name)
            self._stale = True
            self._not_before = _LONG_AGO
        self._used[name] = now
        topic = self.topics.get(name)
        return topic if topic is not None and topic.is_usable else None

    def follow(self, owner: str, names: Collection[str], now: float) -> None:
        """Ask for topics after each back-off until they exist and all partitions have leaders.

        names: replace those that the owner has named before. A topic that only calls have used,
        which are over, is not followed; in a cache with an idle time each topic in use is.
        """
        self._followed[owner] = frozenset(names)
        for name in names:
            if self.use(name, now) is None:
                self._stale = True

    def forget(self, name: str) -> None:
        """Note that a topic is not used any more."""
        self._used.pop(name, None)
        self._new.discard(name)
        self._drop(name)

    def request_refresh(self) -> None:
        """Note that the metadata are wrong or incomplete: the next refresh is due soon."""
        self._stale = True

    @property
    def is_stale(self) -> bool:
        """True if a refresh is due before the metadata have reached their age."""
        return self._stale

    def age_s(self, now: float) -> float:
        """Return the time since the last answer; NaN: there was none."""
        return nan if self._answered == _LONG_AGO else now - self._answered

    def due(self) -> float:
        """Return the time of the next refresh; infinite if no topic is used."""
        if self._stale:
            return self._not_before
        if not self._used and not self.all_topics:
            return _NEVER
        return max(self._answered + self.max_age_s, self._not_before)

    def request(self, now: float) -> MetadataRequest:
        """Return the request for the topics in use; those idle for too long are dropped."""
        idle = [name for name, used in self._used.items() if now - used > self.idle_s]
        for name in idle:
            self.forget(name)
        self._new.clear()
        topics = None
        if not self.all_topics:
            topics = [MetadataRequestTopic(name=name) for name in self._used]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=self.creates_topics)

    def failed(self, now: float, chance: float) -> None:
        """Note a refresh that failed. chance: see `Backoff.pause_s`."""
        self._stale = True
        self._pause(now, chance)

    def update(self, response: MetadataResponse, now: float, chance: float) -> None:
        """Take an answer. chance: see `Backoff.pause_s`."""
        self._answered = now
        self.updates += 1
        self.cluster_id = response.cluster_id
        self.brokers = {
            row.node_id: BrokerAddress(Endpoint(row.host, row.port), row.rack)
            for row in response.brokers
        }
        is_incomplete = False
        for row in response.topics:
            if row.name is not None:
                self._update_topic(row.name, row, now)
                is_incomplete |= self._is_followed(row.name) and _is_incomplete(row)
        self._stale = is_incomplete or bool(self._new)
        if self.all_topics:
            for name in self.topics.keys() - {row.name for row in response.topics}:
                self._drop(name)
        if not is_incomplete and all(topic.is_usable for topic in self.topics.values()):
            self._attempts = 0
        self._pause(now, chance)
        if self._new:
            self._not_before = _LONG_AGO

    def hint(
        self, name: str, partition: int, leader: PartitionLeader, *, brokers: Mapping[int, Endpoint]
    ) -> bool:
        """Take a leader that a response has named; return whether it is newer (KIP-951)."""
        topic = self.topics.get(name)
        current = None if topic is None else topic.partitions.get(partition)
        if topic is None or current is None or leader.epoch <= current.epoch or leader.node < 0:
            return False
        for node, endpoint in brokers.items():
            rack = self.brokers[node].rack if node in self.brokers else None
            self.brokers[node] = BrokerAddress(endpoint, rack)
        if leader.node not in self.brokers:
            return False
        leader = evolve(leader, replicas=current.replicas)
        self.topics[name] = evolve(topic, partitions={**topic.partitions, partition: leader})
        self.updates += 1
        return True

    def leader(self, name: str, partition: int) -> PartitionLeader | None:
        """Return the leader of a partition; None if it or its address is not known."""
        topic = self.topics.get(name)
        leader = None if topic is None else topic.partitions.get(partition)
        return leader if leader is not None and leader.node in self.brokers else None

    def name_of(self, topic_id: bytes) -> str | None:
        """Return the name of a topic; None if the id is not known."""
        return self._names.get(topic_id)

    def _is_followed(self, name: str) -> bool:
        if self.idle_s < _NEVER and name in self._used:
            return True
        return any(name in names for names in self._followed.values())

    def _update_topic(self, name: str, row: MetadataResponseTopic, now: float) -> None:
        if name not in self._used and not self.all_topics:
            return  # forgotten while the request was in flight
        error = error_of(row.error_code)
        before = self.topics.get(name)
        if error:
            self.topics[name] = (
                TopicMetadata(name=name, error=error, updated=now)
                if before is None or error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                else evolve(before, error=error, updated=now)
            )
            return
        same = before is not None and before.topic_id in (row.topic_id, ZERO_TOPIC_ID)
        kept = before.partitions if before is not None and same else {}
        partitions = {}
        for part in row.partitions:
            leader = PartitionLeader(part.leader_id, part.leader_epoch, tuple(part.replica_nodes))
            old = kept.get(part.partition_index)
            is_older = (
                old is not None and 0 <= leader.epoch < old.epoch and old.node in self.brokers
            )
            partitions[part.partition_index] = old if old is not None and is_older else leader
        if before is not None and not same:
            self._names.pop(before.topic_id, None)
        self.topics[name] = TopicMetadata(
            name=name,
            topic_id=row.topic_id,
            is_internal=row.is_internal,
            partitions=partitions,
            updated=now,
        )
        if row.topic_id != ZERO_TOPIC_ID:
            self._names[row.topic_id] = name

    def _drop(self, name: str) -> None:
        topic = self.topics.pop(name, None)
        if topic is not None:
            self._names.pop(topic.topic_id, None)

    def _pause(self, now: float, chance: float) -> None:
        self._attempts += 1
        self._not_before = now + self.backoff.pause_s(self._attempts, chance)


def _is_incomplete(row: MetadataResponseTopic) -> bool:
    """Return whether another answer may say more: the topic, or a leader, is still missing."""
    if row.error_code:
        return error_of(row.error_code).retriable
    return any(
        part.leader_id < 0 or (part.error_code and error_of(part.error_code).retriable)
        for part in row.partitions
    )


def usable(topics: Iterable[TopicMetadata]) -> list[str]:
    """Return the names of topics whose partitions are known, sorted."""
    return sorted(topic.name for topic in topics if topic.is_usable)
