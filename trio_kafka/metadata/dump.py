"""Records of an image: replayed onto an empty image they give the same image. A snapshot's content.

Generators, so that a snapshot of 100,000 partitions is written in slices. Features come first, as
they decide the versions of the other records; a topic comes before its partitions. Otherwise the
order is that of the image.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from trio_kafka.metadata.image import (
    BrokerRegistration,
    ControllerRegistration,
    ListenerEndpoint,
    MetadataImage,
    PartitionState,
    TopicImage,
    VersionRange,
)
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.metadata.brokers import RegisterBrokerRecord
from trio_kafka.protocol.stored.metadata.configs import ConfigRecord
from trio_kafka.protocol.stored.metadata.controllers import RegisterControllerRecord
from trio_kafka.protocol.stored.metadata.features import FeatureLevelRecord
from trio_kafka.protocol.stored.metadata.producer_ids import ProducerIdsRecord
from trio_kafka.protocol.stored.metadata.quotas import ClientQuotaRecord
from trio_kafka.protocol.stored.metadata.topics import PartitionRecord, TopicRecord
from trio_kafka.protocol.structs.cluster import EntityData, NodeFeature, NodeListener

T = TypeVar("T")


def records_of(image: MetadataImage) -> Iterator[MetadataRecord]:
    """Yield the records of an image. Cluster id, offsets and leader are in no record."""
    for name, level in image.features.items():
        yield FeatureLevelRecord(name=name, feature_level=level)
    for controller in image.controllers.values():
        yield controller_record(controller)
    for broker in image.brokers.values():
        yield broker_record(broker)
    for topic in image.topics.values():
        yield from _topic(topic)
    for (kind, resource), settings in image.configs.items():
        for key, value in settings.items():
            yield ConfigRecord(resource_type=kind, resource_name=resource, name=key, value=value)
    for entity, limits in image.quotas.items():
        parts = [EntityData(entity_type=kind, entity_name=named) for kind, named in entity]
        for key, limit in limits.items():
            yield ClientQuotaRecord(entity=parts, key=key, value=limit)
    if image.next_producer_id:
        yield ProducerIdsRecord(broker_id=-1, next_producer_id=image.next_producer_id)
    yield from image.scram.values()
    yield from image.acls.values()
    yield from image.tokens.values()


def _topic(topic: TopicImage) -> Iterator[MetadataRecord]:
    yield TopicRecord(name=topic.name, topic_id=topic.id)
    for number, state in topic.partitions.items():
        yield partition_record(topic.id, number, state)


def partition_record(topic_id: TopicId, number: int, state: PartitionState) -> PartitionRecord:
    """Return the record of a partition's state; an empty ELR is null."""
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id,
        replicas=list(state.replicas),
        isr=list(state.isr),
        removing_replicas=list(state.removing),
        adding_replicas=list(state.adding),
        leader=state.leader,
        leader_recovery_state=state.recovery_state,
        leader_epoch=state.leader_epoch,
        partition_epoch=state.partition_epoch,
        directories=list(state.directories),
        eligible_leader_replicas=list(state.elr) or None,
        last_known_elr=list(state.last_known_elr) or None,
    )


def broker_record(broker: BrokerRegistration) -> RegisterBrokerRecord:
    """Return the record of a broker's registration."""
    cordoned = broker.cordoned_log_dirs
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.epoch,
        end_points=_endpoints(broker.endpoints),
        features=_features(broker.features),
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.log_dirs),
        cordoned_log_dirs=None if cordoned is None else list(cordoned),
    )


def controller_record(controller: ControllerRegistration) -> RegisterControllerRecord:
    """Return the record of a controller's registration."""
    return RegisterControllerRecord(
        controller_id=controller.id,
        incarnation_id=controller.incarnation_id,
        zk_migration_ready=False,
        end_points=_endpoints(controller.endpoints),
        features=_features(controller.features),
    )


def _endpoints(endpoints: Iterable[ListenerEndpoint]) -> list[NodeListener]:
    return [
        NodeListener(
            name=at.name, host=at.host, port=at.port, security_protocol=at.security_protocol
        )
        for at in endpoints
    ]


def _features(features: Mapping[str, VersionRange]) -> list[NodeFeature]:
    return [
        NodeFeature(name=name, min_supported_version=levels.low, max_supported_version=levels.high)
        for name, levels in features.items()
    ]
