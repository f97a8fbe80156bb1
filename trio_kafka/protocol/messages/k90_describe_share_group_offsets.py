"""DescribeShareGroupOffsets (key 90): describe the start offsets of share groups."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = array(
        DescribeShareGroupOffsetsRequestTopic, nullable="0+"
    )


@request(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest:
    """Groups, and topics: null is all."""

    response: ClassVar[type["DescribeShareGroupOffsetsResponse"]]

    groups: list[DescribeShareGroupOffsetsRequestGroup] = array(
        DescribeShareGroupOffsetsRequestGroup
    )


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int = int32()
    start_offset: int = int64()
    leader_epoch: int = int32()
    lag: int = int64("1+", default=-1, ignorable=True)
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: str = string(cached=True)
    topic_id: bytes = uuid()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array(
        DescribeShareGroupOffsetsResponsePartition
    )


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: str = string()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array(
        DescribeShareGroupOffsetsResponseTopic
    )
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@response(DescribeShareGroupOffsetsRequest)
class DescribeShareGroupOffsetsResponse:
    """Start offsets by partition."""

    throttle_time_ms: int = int32()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array(
        DescribeShareGroupOffsetsResponseGroup
    )
