"""OffsetForLeaderEpoch (key 23): find where a leader epoch ends, to detect diverging logs."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, int64, request, response, string, struct


@struct
class OffsetForLeaderPartition:
    partition: int = int32()
    current_leader_epoch: int = int32(default=-1, ignorable=True)
    leader_epoch: int = int32()


@struct
class OffsetForLeaderTopic:
    topic: str = string(cached=True)
    partitions: list[OffsetForLeaderPartition] = array(OffsetForLeaderPartition)


@request(key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    """Ask where leader epochs of partitions end, so that a client can find divergence."""

    response: ClassVar[type["OffsetForLeaderEpochResponse"]]

    replica_id: int = int32("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = array(OffsetForLeaderTopic)


@struct
class EpochEndOffset:
    error_code: int = int16()
    partition: int = int32()
    leader_epoch: int = int32(default=-1, ignorable=True)
    end_offset: int = int64(default=-1)


@struct
class OffsetForLeaderTopicResult:
    topic: str = string(cached=True)
    partitions: list[EpochEndOffset] = array(EpochEndOffset)


@response(OffsetForLeaderEpochRequest)
class OffsetForLeaderEpochResponse:
    """The end offset of the largest epoch not above the one asked for."""

    throttle_time_ms: int = int32(ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = array(OffsetForLeaderTopicResult)
