"""ListOffsets (key 2): find offsets by timestamp, or the first and last ones."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int8, int16, int32, int64, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class ListOffsetsPartition:
    partition_index: int = int32()
    current_leader_epoch: int = int32("4+", default=-1, ignorable=True)
    timestamp: int = int64()


@struct
class ListOffsetsTopic:
    name: str = string(cached=True)
    partitions: list[ListOffsetsPartition] = array(ListOffsetsPartition)


@request(key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest:
    """Timestamps to look for; negative ones stand for special offsets."""

    response: ClassVar[type["ListOffsetsResponse"]]

    replica_id: int = int32()
    isolation_level: int = int8("2+")
    topics: list[ListOffsetsTopic] = array(ListOffsetsTopic)
    timeout_ms: int = int32("10+", ignorable=True)


@struct
class ListOffsetsPartitionResponse:
    partition_index: int = int32()
    error_code: int = int16()
    timestamp: int = int64(default=-1)
    offset: int = int64(default=-1)
    leader_epoch: int = int32("4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    name: str = string(cached=True)
    partitions: list[ListOffsetsPartitionResponse] = array(ListOffsetsPartitionResponse)


@response(ListOffsetsRequest)
class ListOffsetsResponse:
    """The offset and timestamp found in each partition, -1 if none."""

    throttle_time_ms: int = int32("2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = array(ListOffsetsTopicResponse)
