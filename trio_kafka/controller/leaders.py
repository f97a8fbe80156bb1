"""Leaders after brokers leave or return: changes of partitions that follow from those of brokers.

A broker that leaves is removed from every ISR. With eligible leader replicas (KIP-966) it stays
eligible where the ISR becomes smaller than min.insync.replicas, and an ISR may be empty. Without
them the last member stays in the ISR. Each change searches all partitions, in steps.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import evolve

from trio_kafka.controller.configs import MIN_INSYNC_REPLICAS
from trio_kafka.controller.decision import ControllerSettings
from trio_kafka.metadata.features import ELR_VERSION
from trio_kafka.metadata.image import (
    BrokerRegistration,
    ConfigResourceType,
    MetadataImage,
    PartitionState,
    TopicImage,
)
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.model import NO_NODE, NodeId, TopicId
from trio_kafka.protocol.stored.metadata.topics import PartitionChangeRecord

Changes = Iterator[MetadataRecord | None]
_A_STEP: Final = 1000  # partitions in one step: 0.2 ms


def leave(image: MetadataImage, broker_id: NodeId, settings: ControllerSettings) -> Changes:
    """Yield the changes after a broker is fenced, shuts down or is unregistered."""
    elr = image.features.get(ELR_VERSION, 0) > 0
    brokers = {node: b for node, b in image.brokers.items() if node != broker_id}
    for looked_at, (topic, number, old) in enumerate(_partitions(image), 1):
        if not looked_at % _A_STEP:
            yield None
        if broker_id not in old.isr and old.leader != broker_id:
            continue
        isr = tuple(node for node in old.isr if node != broker_id)
        new = evolve(old, isr=isr or (() if elr else old.isr))
        minimum = min(_min_insync(image, topic, settings), len(old.replicas))
        if elr and broker_id in old.isr and len(isr) < minimum:
            new = evolve(new, elr=(*old.elr, broker_id))
        if old.leader == broker_id:
            new = evolve(new, leader=_leader(brokers, new))
            if elr and not new.isr:
                new = evolve(new, last_known_elr=(broker_id,))
        yield from partition_change(topic.id, number, old=old, new=new)


def arrive(image: MetadataImage, broker_id: NodeId) -> Changes:
    """Yield the changes after a broker may lead again: partitions without leader get one."""
    brokers = {
        **image.brokers,
        broker_id: evolve(image.brokers[broker_id], fenced=False, in_controlled_shutdown=False),
    }
    for looked_at, (topic, number, old) in enumerate(_partitions(image), 1):
        if not looked_at % _A_STEP:
            yield None
        if old.leader != NO_NODE or broker_id not in (*old.isr, *old.elr):
            continue
        leader = _leader(brokers, old)
        isr = old.isr if leader in old.isr else (leader,)
        elr = tuple(node for node in old.elr if node not in isr)
        new = evolve(old, leader=leader, isr=isr, elr=elr, last_known_elr=())
        yield from partition_change(topic.id, number, old=old, new=new)


def _partitions(image: MetadataImage) -> Iterator[tuple[TopicImage, int, PartitionState]]:
    for topic in image.topics.values():
        for number, state in topic.partitions.items():
            yield topic, number, state


def _leader(brokers: Mapping[NodeId, BrokerRegistration], state: PartitionState) -> NodeId:
    """Return the first active replica that is in sync, or else eligible."""
    for eligible in (state.isr, state.elr):
        for node in state.replicas:
            if node in eligible and node in brokers and brokers[node].active:
                return node
    return NO_NODE


def _min_insync(image: MetadataImage, topic: TopicImage, settings: ControllerSettings) -> int:
    """Return min.insync.replicas of a topic."""
    for kind, name in ((ConfigResourceType.TOPIC, topic.name), (ConfigResourceType.BROKER, "")):
        value = image.config(kind, name).get(MIN_INSYNC_REPLICAS)
        if value is not None:
            return int(value)
    return settings.min_insync_replicas


def partition_change(
    topic_id: TopicId, number: int, *, old: PartitionState, new: PartitionState
) -> Iterator[MetadataRecord]:
    """Yield the record of a changed partition, if it changed."""
    if new == old:
        return
    record = PartitionChangeRecord(partition_id=number, topic_id=topic_id)
    if new.isr != old.isr:
        record.isr = list(new.isr)
    if new.leader != old.leader:
        record.leader = new.leader
    if new.elr != old.elr:
        record.eligible_leader_replicas = list(new.elr)
    if new.last_known_elr != old.last_known_elr:
        record.last_known_elr = list(new.last_known_elr)
    if new.recovery_state != old.recovery_state:
        record.leader_recovery_state = new.recovery_state
    yield record
