"""Elections that clients ask for: of the preferred replica, or of any that is alive.

Source: KIP-183, KIP-460; ReplicationControlManager of Apache Kafka 4.4.0.
"""

from collections.abc import Iterator
from typing import Final

from attrs import evolve

from trio_kafka.controller.decision import Decision
from trio_kafka.controller.leaders import partition_change
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, PartitionState, RecoveryState
from trio_kafka.model import NO_NODE, NodeId, TopicPartition

_NOT_NEEDED: Final = KafkaError(
    ErrorCode.ELECTION_NOT_NEEDED, "leader election is not needed for this partition"
)


def elect(image: MetadataImage, at: TopicPartition, *, unclean: bool) -> Decision[None]:
    """Elect a leader of a partition.

    Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, ELECTION_NOT_NEEDED,
    PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE.
    """
    topic = image.topics.get(at.topic)
    state = None if topic is None else topic.partitions.get(at.partition)
    if topic is None or state is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no partition {at}")
    new = _unclean(image, state) if unclean else _preferred(image, state)
    return Decision(None, partition_change(topic.id, at.partition, old=state, new=new))


def _preferred(image: MetadataImage, state: PartitionState) -> PartitionState:
    first = state.replicas[0]
    if state.leader == first:
        raise _NOT_NEEDED.as_value()
    if first not in (*state.isr, *state.elr) or not _is_active(image, first):
        reason = f"replica {first} is not alive, or not in sync"
        raise KafkaError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, reason)
    return _led_by(state, first)


def _unclean(image: MetadataImage, state: PartitionState) -> PartitionState:
    """Return the state with a leader: one in sync if there is any, else any that is alive."""
    if state.leader != NO_NODE:
        raise _NOT_NEEDED.as_value()
    for node in _by_safety(state):
        if _is_active(image, node):
            if node in (*state.isr, *state.elr):
                return _led_by(state, node)
            return evolve(
                state,
                leader=node,
                isr=(node,),
                elr=(),
                last_known_elr=(),
                recovery_state=RecoveryState.RECOVERING,
            )
    reason = f"none of the replicas {list(state.replicas)} is alive"
    raise KafkaError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, reason)


def _by_safety(state: PartitionState) -> Iterator[NodeId]:
    safe = (*state.isr, *state.elr)
    yield from (node for node in state.replicas if node in safe)
    yield from (node for node in state.replicas if node not in safe)


def _led_by(state: PartitionState, node: NodeId) -> PartitionState:
    isr = state.isr if node in state.isr else (node,)
    elr = tuple(other for other in state.elr if other not in isr)
    return evolve(state, leader=node, isr=isr, elr=elr, last_known_elr=())


def _is_active(image: MetadataImage, node: NodeId) -> bool:
    broker = image.brokers.get(node)
    return broker is not None and broker.active
