"""Structs that several messages of consumer and share groups share."""

from trio_kafka.protocol.fields import array, int32, string, uuid
from trio_kafka.protocol.schema import struct
from trio_kafka.protocol.structs.cluster import TopicPartitions


@struct
class Assignment:
    """Partitions that a member of a consumer or share group is assigned."""

    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@struct
class DescribedTopicPartitions:
    """Partitions of a topic by id, with its name."""

    topic_id: bytes = uuid()
    topic_name: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class DescribedAssignment:
    """Assignment of a member in a description of its group."""

    topic_partitions: list[DescribedTopicPartitions] = array(DescribedTopicPartitions)
