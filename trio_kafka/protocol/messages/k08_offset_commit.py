"""OffsetCommit (key 8): store the offsets that a group has reached."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class OffsetCommitRequestPartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("6+", default=-1, ignorable=True)
    committed_metadata: str | None = string(nullable="0+")


@struct
class OffsetCommitRequestTopic:
    name: str = string("0-9", ignorable=True, cached=True)
    topic_id: bytes = uuid("10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = array(OffsetCommitRequestPartition)


@request(key=8, versions="2-10", flexible="8+")
class OffsetCommitRequest:
    """Offsets by partition; topics by name up to v9, by id from v10 on."""

    response: ClassVar[type["OffsetCommitResponse"]]

    group_id: str = string()
    generation_id_or_member_epoch: int = int32(default=-1, ignorable=True)
    member_id: str = string(ignorable=True)
    group_instance_id: str | None = string("7+", nullable="7+", default=None)
    retention_time_ms: int = int64("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = array(OffsetCommitRequestTopic)


@struct
class OffsetCommitResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class OffsetCommitResponseTopic:
    name: str = string("0-9", ignorable=True, cached=True)
    topic_id: bytes = uuid("10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = array(OffsetCommitResponsePartition)


@response(OffsetCommitRequest)
class OffsetCommitResponse:
    """An error code for each partition."""

    throttle_time_ms: int = int32("3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = array(OffsetCommitResponseTopic)
