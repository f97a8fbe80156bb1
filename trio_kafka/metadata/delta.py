"""Delta: changes to an image, record by record.

`replay` applies records to a delta. The delta copies what they touch once, and `apply` returns the
next image. Publishers read from it what has changed, so that they never search an image. A delta
has one owner, and is done when it is applied.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import Factory, evolve

from trio_kafka.attributes import define
from trio_kafka.metadata.image import (
    BrokerRegistration,
    ConfigResource,
    ConfigResourceType,
    ControllerRegistration,
    MetadataImage,
    PartitionState,
    QuotaEntity,
    TopicImage,
)
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.stored.metadata.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)

K = TypeVar("K")
V = TypeVar("V")


@define(kw_only=True)
class TopicDelta:
    """A changed topic: its partitions now, and which of them changed."""

    name: str
    id: TopicId
    created: bool
    partitions: dict[int, PartitionState]
    changed: dict[int, None] = Factory(dict)  # an ordered set


@define
class MetadataDelta:
    """Changes to `image`. None in a mapping marks a removed entry."""

    image: MetadataImage
    topics: dict[TopicId, TopicDelta] = Factory(dict)
    deleted_topics: dict[TopicId, str] = Factory(dict)
    brokers: dict[NodeId, BrokerRegistration | None] = Factory(dict)
    controllers: dict[NodeId, ControllerRegistration | None] = Factory(dict)
    configs: dict[ConfigResource, dict[str, str]] = Factory(dict)
    features: dict[str, int] = Factory(dict)
    quotas: dict[QuotaEntity, dict[str, float]] = Factory(dict)
    scram: dict[tuple[str, int], UserScramCredentialRecord | None] = Factory(dict)
    acls: dict[bytes, AccessControlEntryRecord | None] = Factory(dict)
    tokens: dict[str, DelegationTokenRecord | None] = Factory(dict)
    next_producer_id: int | None = None
    _ids: dict[str, TopicId] = Factory(dict)
    _shared_nodes: dict[tuple[NodeId, ...], tuple[NodeId, ...]] = Factory(dict)
    _shared_directories: dict[tuple[bytes, ...], tuple[bytes, ...]] = Factory(dict)

    @property
    def group_configs(self) -> bool:
        """True if settings of a group changed."""
        return any(kind == ConfigResourceType.GROUP for kind, _ in self.configs)

    # For replay: the state after all records so far.

    def topic(self, topic_id: TopicId) -> TopicDelta | None:
        """Return a topic, copied when first used; None if it does not exist."""
        topic = self.topics.get(topic_id)
        if topic is None and topic_id not in self.deleted_topics:
            name = self.image.topic_names.get(topic_id)
            if name is not None:
                partitions = dict(self.image.topics[name].partitions)
                topic = TopicDelta(name=name, id=topic_id, created=False, partitions=partitions)
                self.topics[topic_id] = topic
        return topic

    def topic_id(self, name: str) -> TopicId | None:
        """Return the id of the topic that has this name now."""
        if name in self._ids:
            return self._ids[name]
        topic = self.image.topics.get(name)
        return None if topic is None or topic.id in self.deleted_topics else topic.id

    def create_topic(self, name: str, topic_id: TopicId) -> None:
        """Add a topic without partitions."""
        self.topics[topic_id] = TopicDelta(name=name, id=topic_id, created=True, partitions={})
        self._ids[name] = topic_id

    def delete_topic(self, topic: TopicDelta) -> None:
        """Remove a topic and its settings."""
        del self.topics[topic.id]
        self._ids.pop(topic.name, None)
        if not topic.created:
            self.deleted_topics[topic.id] = topic.name
        resource = (int(ConfigResourceType.TOPIC), topic.name)
        if resource in self.image.configs:
            self.configs[resource] = {}
        else:
            self.configs.pop(resource, None)

    def set_partition(self, topic: TopicDelta, number: int, state: PartitionState) -> None:
        """Add or change a partition."""
        topic.partitions[number] = state
        topic.changed[number] = None

    def broker(self, broker_id: NodeId) -> BrokerRegistration | None:
        """Return the current registration of a broker."""
        if broker_id in self.brokers:
            return self.brokers[broker_id]
        return self.image.brokers.get(broker_id)

    def config(self, resource: ConfigResource) -> dict[str, str]:
        """Return the settings of a resource, to be changed in place."""
        if resource not in self.configs:
            self.configs[resource] = dict(self.image.configs.get(resource, {}))
        return self.configs[resource]

    def quota(self, entity: QuotaEntity) -> dict[str, float]:
        """Return the quotas of an entity, to be changed in place."""
        if entity not in self.quotas:
            self.quotas[entity] = dict(self.image.quotas.get(entity, {}))
        return self.quotas[entity]

    def nodes(self, ids: Iterable[int]) -> tuple[NodeId, ...]:
        """Return a tuple shared by equal lists: 100,000 partitions have few replica lists."""
        nodes: tuple[NodeId, ...] = tuple(ids)  # type: ignore[arg-type]  # NodeId is an int
        return self._shared_nodes.setdefault(nodes, nodes)

    def directories(self, ids: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return a tuple of directory ids, shared as by `nodes`."""
        directories = tuple(ids)
        return self._shared_directories.setdefault(directories, directories)

    # The result.

    def apply(
        self,
        offset: int,
        epoch: int,
        timestamp_ms: int,
        *,
        leader_id: NodeId | None = None,
    ) -> MetadataImage:
        """Return the image at `offset`. The cost depends on the changes, not on the image."""
        old = self.image
        topics, topic_names = old.topics, old.topic_names
        if self.topics or self.deleted_topics:
            topics, topic_names = self._changed_topics()
        return evolve(
            old,
            offset=offset,
            epoch=epoch,
            timestamp_ms=timestamp_ms,
            leader_id=old.leader_id if leader_id is None else leader_id,
            topics=topics,
            topic_names=topic_names,
            next_producer_id=(
                old.next_producer_id if self.next_producer_id is None else self.next_producer_id
            ),
            # Most deltas change one of these.
            brokers=_merged(old.brokers, self.brokers) if self.brokers else old.brokers,
            controllers=(
                _merged(old.controllers, self.controllers) if self.controllers else old.controllers
            ),
            configs=_updated(old.configs, self.configs) if self.configs else old.configs,
            features=(
                _merged(old.features, {k: v or None for k, v in self.features.items()})
                if self.features
                else old.features
            ),
            quotas=_updated(old.quotas, self.quotas) if self.quotas else old.quotas,
            scram=old.scram.updated(self.scram) if self.scram else old.scram,
            acls=old.acls.updated(self.acls) if self.acls else old.acls,
            tokens=old.tokens.updated(self.tokens) if self.tokens else old.tokens,
        )

    def _changed_topics(
        self,
    ) -> tuple[ImmutableMap[str, TopicImage], ImmutableMap[TopicId, str]]:
        """Return the topics by name, and the names of topics by id."""
        names: dict[str, TopicImage | None] = dict.fromkeys(self.deleted_topics.values())
        ids: dict[TopicId, str | None] = dict.fromkeys(self.deleted_topics)
        for topic in self.topics.values():
            names[topic.name] = TopicImage(
                name=topic.name, id=topic.id, partitions=topic.partitions
            )
            if topic.created:
                ids[topic.id] = topic.name
        return self.image.topics.updated(names), self.image.topic_names.updated(ids)


def _updated(
    old: ImmutableMap[K, Mapping[str, V]], changes: Mapping[K, Mapping[str, V]]
) -> ImmutableMap[K, Mapping[str, V]]:
    """Return changed tables by their owner; an empty table is removed."""
    return old.updated({owner: table or None for owner, table in changes.items()})


def _merged(old: Mapping[K, V], changes: Mapping[K, V | None]) -> Mapping[K, V]:
    """Return a changed copy of a small mapping, where None removes."""
    merged = {**old, **changes}
    return {key: value for key, value in merged.items() if value is not None}
