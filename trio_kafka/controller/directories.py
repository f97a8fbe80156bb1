"""Directories of replicas, as their broker reports them.

Source: KIP-858; Kafka's AssignReplicasToDirs.
"""

from trio_kafka.controller.brokers import check_epoch
from trio_kafka.controller.decision import Decision
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import NodeId, TopicId
from trio_kafka.protocol.stored.metadata.topics import PartitionChangeRecord


def assign_directory(
    image: MetadataImage,
    *,
    broker_id: NodeId,
    epoch: int,
    replica: tuple[TopicId, int],
    directory: bytes,
) -> Decision[None]:
    """Set the directory of a broker's replica, which topic id and number name.

    Raises KafkaError: as `check_epoch`, UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
    NOT_LEADER_OR_FOLLOWER for a broker that has no replica.
    """
    check_epoch(image, broker_id, epoch)
    topic_id, number = replica
    topic = image.topic(topic_id)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic with id {topic_id.hex()}")
    state = topic.partitions.get(number)
    if state is None:
        reason = f"topic {topic.name} has no partition {number}"
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    if broker_id not in state.replicas:
        reason = f"broker {broker_id} has no replica of {topic.name}-{number}"
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason)
    if not state.directories or state.directory(broker_id) == directory:
        return Decision(None)
    directories = list(state.directories)
    directories[state.replicas.index(broker_id)] = directory
    record = PartitionChangeRecord(partition_id=number, topic_id=topic_id, directories=directories)
    return Decision(None, [record])
