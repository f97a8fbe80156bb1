"""OffsetDelete (key 47): delete offsets that a group has stored."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int = int32()


@struct
class OffsetDeleteRequestTopic:
    name: str = string(cached=True)
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


@request(key=47, versions="0")
class OffsetDeleteRequest:
    """Partitions of a group."""

    response: ClassVar[type["OffsetDeleteResponse"]]

    group_id: str = string()
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


@struct
class OffsetDeleteResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetDeleteResponseTopic:
    name: str = string(cached=True)
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


@response(OffsetDeleteRequest)
class OffsetDeleteResponse:
    """An error code for each partition."""

    error_code: int = int16()
    throttle_time_ms: int = int32(ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
