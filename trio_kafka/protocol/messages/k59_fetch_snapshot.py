"""FetchSnapshot (key 59): read a snapshot of the metadata log."""

from collections.abc import Sized
from typing import ClassVar

from trio_kafka.protocol.fields import (
    array,
    int16,
    int32,
    int64,
    records,
    string,
    struct_,
    uuid,
)
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.cluster import NodeEndpoint
from trio_kafka.protocol.structs.share import LeaderIdAndEpoch


@struct
class SnapshotId:
    end_offset: int = int64()
    epoch: int = int32()


@struct
class PartitionSnapshot:
    partition: int = int32()
    current_leader_epoch: int = int32()
    snapshot_id: SnapshotId = struct_(SnapshotId)
    position: int = int64()
    replica_directory_id: bytes = uuid("1+", tag=0, ignorable=True)


@struct
class TopicSnapshot:
    name: str = string(cached=True)
    partitions: list[PartitionSnapshot] = array(PartitionSnapshot)


@request(key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest:
    """A snapshot, and a position in it."""

    response: ClassVar[type["FetchSnapshotResponse"]]

    cluster_id: str | None = string(nullable="0+", tag=0, default=None)
    replica_id: int = int32(default=-1)
    max_bytes: int = int32(default=0x7FFFFFFF)
    topics: list[TopicSnapshot] = array(TopicSnapshot)


@struct
class PartitionResult:
    index: int = int32()
    error_code: int = int16()
    snapshot_id: SnapshotId = struct_(SnapshotId)
    current_leader: LeaderIdAndEpoch = struct_(LeaderIdAndEpoch, tag=0)
    size: int = int64()
    position: int = int64()
    unaligned_records: Sized | None = records()


@struct
class TopicResult:
    name: str = string(cached=True)
    partitions: list[PartitionResult] = array(PartitionResult)


@response(FetchSnapshotRequest)
class FetchSnapshotResponse:
    """Bytes of the snapshot, cut anywhere, and its size."""

    throttle_time_ms: int = int32(ignorable=True)
    error_code: int = int16()
    topics: list[TopicResult] = array(TopicResult)
    node_endpoints: list[NodeEndpoint] = array(NodeEndpoint, "1+", tag=0)
