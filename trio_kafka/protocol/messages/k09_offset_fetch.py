"""OffsetFetch (key 9): read the offsets that groups have stored."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class OffsetFetchRequestTopic:
    name: str = string(cached=True)
    partition_indexes: list[int] = array(int32)


@struct
class OffsetFetchRequestTopics:
    name: str = string("8-9", ignorable=True, cached=True)
    topic_id: bytes = uuid("10+", ignorable=True)
    partition_indexes: list[int] = array(int32)


@struct
class OffsetFetchRequestGroup:
    group_id: str = string()
    member_id: str | None = string("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: int = int32("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = array(OffsetFetchRequestTopics, nullable="8+")


@request(key=9, versions="1-10", flexible="6+")
class OffsetFetchRequest:
    """One group up to v7, several from v8 on; null topics are all."""

    response: ClassVar[type["OffsetFetchResponse"]]

    group_id: str = string("0-7")
    topics: list[OffsetFetchRequestTopic] | None = array(
        OffsetFetchRequestTopic, "0-7", nullable="2-7"
    )
    groups: list[OffsetFetchRequestGroup] = array(OffsetFetchRequestGroup, "8+")
    require_stable: bool = boolean("7+")


@struct
class OffsetFetchResponsePartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("5-7", default=-1, ignorable=True)
    metadata: str | None = string(nullable="0-7")
    error_code: int = int16()


@struct
class OffsetFetchResponseTopic:
    name: str = string(cached=True)
    partitions: list[OffsetFetchResponsePartition] = array(OffsetFetchResponsePartition)


@struct
class OffsetFetchResponsePartitions:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32(default=-1, ignorable=True)
    metadata: str | None = string(nullable="8+")
    error_code: int = int16()


@struct
class OffsetFetchResponseTopics:
    name: str = string("8-9", ignorable=True, cached=True)
    topic_id: bytes = uuid("10+", ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = array(OffsetFetchResponsePartitions)


@struct
class OffsetFetchResponseGroup:
    group_id: str = string()
    topics: list[OffsetFetchResponseTopics] = array(OffsetFetchResponseTopics)
    error_code: int = int16()


@response(OffsetFetchRequest)
class OffsetFetchResponse:
    """Offsets by partition, -1 where none is stored."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = array(OffsetFetchResponseTopic, "0-7")
    error_code: int = int16("2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = array(OffsetFetchResponseGroup, "8+")
