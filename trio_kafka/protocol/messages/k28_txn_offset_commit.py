"""TxnOffsetCommit (key 28): store a group's offsets as part of a transaction."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: int = int32()
    committed_offset: int = int64()
    committed_leader_epoch: int = int32("2+", default=-1, ignorable=True)
    committed_metadata: str | None = string(nullable="0+")


@struct
class TxnOffsetCommitRequestTopic:
    name: str = string("0-5", ignorable=True, cached=True)
    topic_id: bytes = uuid("6+", ignorable=True)
    partitions: list[TxnOffsetCommitRequestPartition] = array(TxnOffsetCommitRequestPartition)


@request(key=28, versions="0-6", flexible="3+")
class TxnOffsetCommitRequest:
    """Offsets by partition, with the producer and the member that send them."""

    response: ClassVar[type["TxnOffsetCommitResponse"]]

    transactional_id: str = string()
    group_id: str = string()
    producer_id: int = int64()
    producer_epoch: int = int16()
    generation_id_or_member_epoch: int = int32("3+", default=-1)
    member_id: str = string("3+")
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = array(TxnOffsetCommitRequestTopic)


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class TxnOffsetCommitResponseTopic:
    name: str = string("0-5", ignorable=True, cached=True)
    topic_id: bytes = uuid("6+", ignorable=True)
    partitions: list[TxnOffsetCommitResponsePartition] = array(TxnOffsetCommitResponsePartition)


@response(TxnOffsetCommitRequest)
class TxnOffsetCommitResponse:
    """An error code for each partition."""

    throttle_time_ms: int = int32()
    topics: list[TxnOffsetCommitResponseTopic] = array(TxnOffsetCommitResponseTopic)
