"""Records of remote log segments (topic `__remote_log_metadata`), framed like metadata records."""

from trio_kafka.protocol.fields import (
    array,
    boolean,
    bytes_,
    int8,
    int32,
    int64,
    string,
    struct_,
    uuid,
)
from trio_kafka.protocol.schema import record, struct


@struct
class TopicIdPartitionEntry:
    name: str = string()
    id: bytes = uuid()
    partition: int = int32()


@struct
class RemoteLogSegmentIdEntry:
    topic_id_partition: TopicIdPartitionEntry = struct_(TopicIdPartitionEntry)
    id: bytes = uuid()


@struct
class SegmentLeaderEpochEntry:
    leader_epoch: int = int32()
    offset: int = int64()


@record(key=0, versions="0", flexible="0+")
class RemoteLogSegmentMetadataRecord:
    """Begin of the copy of a segment."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = struct_(RemoteLogSegmentIdEntry)
    start_offset: int = int64()
    end_offset: int = int64()
    broker_id: int = int32()
    max_timestamp_ms: int = int64()
    event_timestamp_ms: int = int64()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = bytes_(nullable="0+", default=None)
    remote_log_segment_state: int = int8()
    txn_index_empty: bool = boolean(tag=0)


@record(key=1, versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord:
    """Change of a segment's state."""

    remote_log_segment_id: RemoteLogSegmentIdEntry = struct_(RemoteLogSegmentIdEntry)
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    custom_metadata: bytes | None = bytes_(nullable="0+", default=None)
    remote_log_segment_state: int = int8()


@record(key=2, versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord:
    """Step of the deletion of a partition's remote log."""

    topic_id_partition: TopicIdPartitionEntry = struct_(TopicIdPartitionEntry)
    broker_id: int = int32()
    event_timestamp_ms: int = int64()
    remote_partition_delete_state: int = int8()


@record(key=3, versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord:
    """State of a segment in a snapshot."""

    segment_id: bytes = uuid()
    start_offset: int = int64()
    end_offset: int = int64()
    broker_id: int = int32()
    max_timestamp_ms: int = int64()
    event_timestamp_ms: int = int64()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = array(SegmentLeaderEpochEntry)
    segment_size_in_bytes: int = int32()
    custom_metadata: bytes | None = bytes_(nullable="0+", default=None)
    remote_log_segment_state: int = int8()
    txn_index_empty: bool = boolean(tag=0)
