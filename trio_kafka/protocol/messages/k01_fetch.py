"""Fetch (key 1): read record batches of partitions; consumers, followers and observers of the
metadata log.
"""

from collections.abc import Sized
from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct_,
    uuid,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.leaders import LeaderIdAndEpoch, NodeEndpoint


@struct
class ReplicaState:
    replica_id: int = int32(default=-1)
    replica_epoch: int = int64(default=-1)


@struct
class FetchPartition:
    partition: int = int32()
    current_leader_epoch: int = int32("9+", default=-1, ignorable=True)
    fetch_offset: int = int64()
    last_fetched_epoch: int = int32("12+", default=-1)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    partition_max_bytes: int = int32()
    replica_directory_id: bytes = uuid("17+", tag=0, ignorable=True)
    high_watermark: int = int64("18+", tag=1, default=9223372036854775807, ignorable=True)


@struct
class FetchTopic:
    topic: str = string("0-12", ignorable=True, cached=True)
    topic_id: bytes = uuid("13+", ignorable=True)
    partitions: list[FetchPartition] = array(FetchPartition)


@struct
class ForgottenTopic:
    topic: str = string("7-12", ignorable=True, cached=True)
    topic_id: bytes = uuid("13+", ignorable=True)
    partitions: list[int] = array(int32)


@request(key=1, versions="4-18", flexible="12+")
class FetchRequest:
    """Partitions with offsets to read from; in a session (v7+) only changes since the
    last request.
    """

    response: ClassVar[type["FetchResponse"]]

    cluster_id: str | None = string("12+", nullable="12+", tag=0, default=None, ignorable=True)
    replica_id: int = int32("0-14", default=-1)
    replica_state: ReplicaState = struct_(ReplicaState, "15+", tag=1)
    max_wait_ms: int = int32()
    min_bytes: int = int32()
    max_bytes: int = int32(default=0x7FFFFFFF, ignorable=True)
    isolation_level: int = int8(ignorable=True)
    session_id: int = int32("7+", ignorable=True)
    session_epoch: int = int32("7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = array(FetchTopic)
    forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, "7+")
    rack_id: str = string("11+", ignorable=True)


@struct
class EpochEndOffset:
    epoch: int = int32(default=-1)
    end_offset: int = int64(default=-1)


@struct
class SnapshotId:
    end_offset: int = int64(default=-1)
    epoch: int = int32(default=-1)


@struct
class AbortedTransaction:
    producer_id: int = int64()
    first_offset: int = int64()


@struct
class PartitionData:
    partition_index: int = int32()
    error_code: int = int16()
    high_watermark: int = int64()
    last_stable_offset: int = int64(default=-1, ignorable=True)
    log_start_offset: int = int64("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = struct_(EpochEndOffset, "12+", tag=0)
    current_leader: LeaderIdAndEpoch = struct_(LeaderIdAndEpoch, "12+", tag=1)
    snapshot_id: SnapshotId = struct_(SnapshotId, "12+", tag=2)
    aborted_transactions: list[AbortedTransaction] | None = array(
        AbortedTransaction, nullable="4+", ignorable=True, columns=True
    )
    preferred_read_replica: int = int32("11+", default=-1)
    records: Sized | None = records(nullable="0+")


@struct
class FetchableTopicResponse:
    topic: str = string("0-12", ignorable=True, cached=True)
    topic_id: bytes = uuid("13+", ignorable=True)
    partitions: list[PartitionData] = array(PartitionData)


@response(FetchRequest)
class FetchResponse:
    """Batches as they are stored, and the state of each partition."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16("7+", ignorable=True)
    session_id: int = int32("7+")
    responses: list[FetchableTopicResponse] = array(FetchableTopicResponse)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "16+", tag=0)
