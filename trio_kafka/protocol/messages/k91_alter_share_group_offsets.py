"""AlterShareGroupOffsets (key 91): change the start offsets of an empty share group."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: int = int32()
    start_offset: int = int64()


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: str = string(cached=True)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = array(
        AlterShareGroupOffsetsRequestPartition
    )


@request(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest:
    """Start offsets by partition."""

    response: ClassVar[type["AlterShareGroupOffsetsResponse"]]

    group_id: str = string()
    topics: list[AlterShareGroupOffsetsRequestTopic] = array(AlterShareGroupOffsetsRequestTopic)


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: str = string(cached=True)
    topic_id: bytes = uuid()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = array(
        AlterShareGroupOffsetsResponsePartition
    )


@response(AlterShareGroupOffsetsRequest)
class AlterShareGroupOffsetsResponse:
    """An error for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = array(
        AlterShareGroupOffsetsResponseTopic
    )
