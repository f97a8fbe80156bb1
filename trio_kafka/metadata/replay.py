"""Replay of metadata records onto a delta: one function for each record, in a table by class.

Records are facts: they are replayed, never refused. A record that cannot be true, such as a
partition without a topic, breaks an invariant: this replica of the log differs from its leader's.
Source: KIP-631 (records), KIP-841, KIP-858, KIP-966; messages of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from attrs import evolve

from trio_kafka.errors import InvariantError
from trio_kafka.metadata.delta import MetadataDelta, TopicDelta
from trio_kafka.metadata.image import (
    BrokerRegistration,
    ControllerRegistration,
    ListenerEndpoint,
    PartitionState,
    RecoveryState,
    VersionRange,
)
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.stored.metadata import (
    brokers,
    configs,
    controllers,
    features,
    producer_ids,
    quotas,
    security,
    topics,
    transactions,
)
from trio_kafka.protocol.structs.cluster import NodeFeature, NodeListener

UNCHANGED_LEADER: Final = -2
UNCHANGED_RECOVERY: Final = -1

_EVOLVE_PARTITION: Final[Callable[..., PartitionState]] = evolve
_EVOLVE_BROKER: Final[Callable[..., BrokerRegistration]] = evolve


def replay(delta: MetadataDelta, record: MetadataRecord) -> None:
    """Apply one record. Records of transactions do nothing here; their reader handles them.

    Raises InvariantError for an unknown record, or one that contradicts an earlier record.
    """
    apply = _REPLAY.get(type(record))
    if apply is None:
        message = message_of(type(record))
        raise InvariantError(
            f"metadata record {message.name} (key {message.key}) cannot be replayed"
        )
    apply(delta, record)


# Topics.


def _topic(delta: MetadataDelta, record: topics.TopicRecord) -> None:
    if delta.topic_id(record.name) is not None:
        raise InvariantError(f"record creates topic {record.name}, which exists")
    delta.create_topic(record.name, TopicId(record.topic_id))


def _partition(delta: MetadataDelta, record: topics.PartitionRecord) -> None:
    state = PartitionState(
        replicas=delta.nodes(record.replicas),
        isr=delta.nodes(record.isr),
        removing=delta.nodes(record.removing_replicas),
        adding=delta.nodes(record.adding_replicas),
        leader=NodeId(record.leader),
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=delta.directories(record.directories),
        elr=delta.nodes(record.eligible_leader_replicas or ()),
        last_known_elr=delta.nodes(record.last_known_elr or ()),
        recovery_state=RecoveryState(record.leader_recovery_state),
    )
    delta.set_partition(_topic_of(delta, record.topic_id), record.partition_id, state)


def _partition_change(delta: MetadataDelta, record: topics.PartitionChangeRecord) -> None:
    topic = _topic_of(delta, record.topic_id)
    old = topic.partitions.get(record.partition_id)
    if old is None:
        raise InvariantError(f"change of {topic.name}-{record.partition_id}, which does not exist")
    changes: dict[str, object] = {"partition_epoch": old.partition_epoch + 1}
    for name, nodes in (
        ("isr", record.isr),
        ("replicas", record.replicas),
        ("removing", record.removing_replicas),
        ("adding", record.adding_replicas),
        ("elr", record.eligible_leader_replicas),
        ("last_known_elr", record.last_known_elr),
    ):
        if nodes is not None:
            changes[name] = delta.nodes(nodes)
    if record.directories is not None:
        changes["directories"] = delta.directories(record.directories)
    if record.leader != UNCHANGED_LEADER:
        changes["leader"] = NodeId(record.leader)
        changes["leader_epoch"] = old.leader_epoch + 1
    if record.leader_recovery_state != UNCHANGED_RECOVERY:
        changes["recovery_state"] = RecoveryState(record.leader_recovery_state)
    delta.set_partition(topic, record.partition_id, _EVOLVE_PARTITION(old, **changes))


def _remove_topic(delta: MetadataDelta, record: topics.RemoveTopicRecord) -> None:
    delta.delete_topic(_topic_of(delta, record.topic_id))


def _clear_elr(delta: MetadataDelta, record: topics.ClearElrRecord) -> None:
    if record.topic_name:
        topic_id = delta.topic_id(record.topic_name)
        if topic_id is None:
            raise InvariantError(f"ELR of topic {record.topic_name}, which does not exist")
        ids = [topic_id]
    else:
        ids = [*delta.image.topic_names, *delta.topics]
    for topic_id in dict.fromkeys(ids):
        topic = delta.topic(topic_id)
        for number, state in list(topic.partitions.items()) if topic else ():
            if topic and (state.elr or state.last_known_elr):
                delta.set_partition(topic, number, evolve(state, elr=(), last_known_elr=()))


def _topic_of(delta: MetadataDelta, topic_id: bytes) -> TopicDelta:
    topic = delta.topic(TopicId(topic_id))
    if topic is None:
        raise InvariantError(f"a record names topic {topic_id.hex()}, which does not exist")
    return topic


# Settings.


def _config(delta: MetadataDelta, record: configs.ConfigRecord) -> None:
    settings = delta.config((record.resource_type, record.resource_name))
    if record.value is None:
        settings.pop(record.name, None)
    else:
        settings[record.name] = record.value


def _feature(delta: MetadataDelta, record: features.FeatureLevelRecord) -> None:
    delta.features[record.name] = record.feature_level


def _producer_ids(delta: MetadataDelta, record: producer_ids.ProducerIdsRecord) -> None:
    delta.next_producer_id = record.next_producer_id


def _quota(delta: MetadataDelta, record: quotas.ClientQuotaRecord) -> None:
    parts = ((part.entity_type, part.entity_name) for part in record.entity)
    limits = delta.quota(tuple(sorted(parts, key=lambda part: part[0])))
    if record.remove:
        limits.pop(record.key, None)
    else:
        limits[record.key] = record.value


# Nodes.


def _register_broker(delta: MetadataDelta, record: brokers.RegisterBrokerRecord) -> None:
    broker_id = NodeId(record.broker_id)
    cordoned = record.cordoned_log_dirs
    delta.brokers[broker_id] = BrokerRegistration(
        id=broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        endpoints=_endpoints(record.end_points),
        features=_features(record.features),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        log_dirs=tuple(record.log_dirs),
        cordoned_log_dirs=None if cordoned is None else tuple(cordoned),
    )


def _unregister_broker(delta: MetadataDelta, record: brokers.UnregisterBrokerRecord) -> None:
    broker = _registered(delta, record.broker_id, record.broker_epoch)
    delta.brokers[broker.id] = None


def _change_broker(delta: MetadataDelta, record: brokers.BrokerRegistrationChangeRecord) -> None:
    broker = _registered(delta, record.broker_id, record.broker_epoch)
    changes: dict[str, object] = {}
    if record.fenced:
        changes["fenced"] = record.fenced > 0
    if record.in_controlled_shutdown:
        changes["in_controlled_shutdown"] = record.in_controlled_shutdown > 0
    if record.log_dirs:
        changes["log_dirs"] = tuple(record.log_dirs)
    if record.cordoned_log_dirs is not None:
        changes["cordoned_log_dirs"] = tuple(record.cordoned_log_dirs)
    delta.brokers[broker.id] = _EVOLVE_BROKER(broker, **changes)


def _fence(delta: MetadataDelta, record: brokers.FenceBrokerRecord) -> None:
    broker = _registered(delta, record.id, record.epoch)
    delta.brokers[broker.id] = evolve(broker, fenced=True)


def _unfence(delta: MetadataDelta, record: brokers.UnfenceBrokerRecord) -> None:
    broker = _registered(delta, record.id, record.epoch)
    delta.brokers[broker.id] = evolve(broker, fenced=False)


def _registered(delta: MetadataDelta, broker_id: int, epoch: int) -> BrokerRegistration:
    broker = delta.broker(NodeId(broker_id))
    if broker is None or broker.epoch != epoch:
        reason = "none" if broker is None else f"epoch {broker.epoch}"
        raise InvariantError(
            f"a record names broker {broker_id} of epoch {epoch}, there is {reason}"
        )
    return broker


def _register_controller(
    delta: MetadataDelta, record: controllers.RegisterControllerRecord
) -> None:
    controller_id = NodeId(record.controller_id)
    delta.controllers[controller_id] = ControllerRegistration(
        id=controller_id,
        incarnation_id=record.incarnation_id,
        endpoints=_endpoints(record.end_points),
        features=_features(record.features),
    )


def _unregister_controller(
    delta: MetadataDelta, record: controllers.UnregisterControllerRecord
) -> None:
    delta.controllers[NodeId(record.controller_id)] = None


def _endpoints(listeners: Sequence[NodeListener]) -> tuple[ListenerEndpoint, ...]:
    return tuple(ListenerEndpoint(e.name, e.host, e.port, e.security_protocol) for e in listeners)


def _features(ranges: Sequence[NodeFeature]) -> dict[str, VersionRange]:
    return {f.name: VersionRange(f.min_supported_version, f.max_supported_version) for f in ranges}


# Security.


def _acl(delta: MetadataDelta, record: security.AccessControlEntryRecord) -> None:
    delta.acls[record.id] = record


def _remove_acl(delta: MetadataDelta, record: security.RemoveAccessControlEntryRecord) -> None:
    delta.acls[record.id] = None


def _scram(delta: MetadataDelta, record: security.UserScramCredentialRecord) -> None:
    delta.scram[record.name, record.mechanism] = record


def _remove_scram(delta: MetadataDelta, record: security.RemoveUserScramCredentialRecord) -> None:
    delta.scram[record.name, record.mechanism] = None


def _token(delta: MetadataDelta, record: security.DelegationTokenRecord) -> None:
    delta.tokens[record.token_id] = record


def _remove_token(delta: MetadataDelta, record: security.RemoveDelegationTokenRecord) -> None:
    delta.tokens[record.token_id] = None


def _nothing(_delta: MetadataDelta, _record: MetadataRecord) -> None:
    """Change nothing."""


_REPLAY: Final[dict[type, Callable[[MetadataDelta, Any], None]]] = {
    topics.TopicRecord: _topic,
    topics.PartitionRecord: _partition,
    topics.PartitionChangeRecord: _partition_change,
    topics.RemoveTopicRecord: _remove_topic,
    topics.ClearElrRecord: _clear_elr,
    configs.ConfigRecord: _config,
    features.FeatureLevelRecord: _feature,
    features.ZkMigrationStateRecord: _nothing,
    producer_ids.ProducerIdsRecord: _producer_ids,
    quotas.ClientQuotaRecord: _quota,
    brokers.RegisterBrokerRecord: _register_broker,
    brokers.UnregisterBrokerRecord: _unregister_broker,
    brokers.BrokerRegistrationChangeRecord: _change_broker,
    brokers.FenceBrokerRecord: _fence,
    brokers.UnfenceBrokerRecord: _unfence,
    controllers.RegisterControllerRecord: _register_controller,
    controllers.UnregisterControllerRecord: _unregister_controller,
    security.AccessControlEntryRecord: _acl,
    security.RemoveAccessControlEntryRecord: _remove_acl,
    security.UserScramCredentialRecord: _scram,
    security.RemoveUserScramCredentialRecord: _remove_scram,
    security.DelegationTokenRecord: _token,
    security.RemoveDelegationTokenRecord: _remove_token,
    transactions.BeginTransactionRecord: _nothing,
    transactions.EndTransactionRecord: _nothing,
    transactions.AbortTransactionRecord: _nothing,
    transactions.NoOpRecord: _nothing,
}
