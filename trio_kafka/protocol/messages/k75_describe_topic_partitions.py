"""DescribeTopicPartitions (key 75): describe partitions of topics, page by page (KIP-966)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, struct_, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class TopicRequest:
    name: str = string(cached=True)


@struct
class Cursor:
    topic_name: str = string(cached=True)
    partition_index: int = int32()


@request(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    """Topics, a limit of partitions, and the cursor of the page."""

    response: ClassVar[type["DescribeTopicPartitionsResponse"]]

    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = int32(default=2000)
    cursor: Cursor | None = struct_(Cursor, nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = int16()
    partition_index: int = int32()
    leader_id: int = int32()
    leader_epoch: int = int32(default=-1, ignorable=True)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = array(int32, nullable="0+", default=None)
    last_known_elr: list[int] | None = array(int32, nullable="0+", default=None)
    offline_replicas: list[int] = array(int32, ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: int = int16()
    name: str | None = string(nullable="0+", cached=True)
    topic_id: bytes = uuid(ignorable=True)
    is_internal: bool = boolean(ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = int32(default=-2147483648)


@response(DescribeTopicPartitionsRequest)
class DescribeTopicPartitionsResponse:
    """Partitions with their eligible leader replicas, and the cursor of the next page."""

    throttle_time_ms: int = int32(ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = struct_(Cursor, nullable="0+", default=None)
