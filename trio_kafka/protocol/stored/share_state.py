"""Records of the share coordinator (topic `__share_group_state`).

An int16 type precedes the key, an int16 version the value; a null value is a tombstone.
"""

from trio_kafka.protocol.fields import array, int32, int64, string, uuid
from trio_kafka.protocol.schema import record
from trio_kafka.protocol.structs.share import StateBatch


@record(key=0, versions="0")
class ShareSnapshotKey:
    """State of one partition of a share group."""

    group_id: str = string()
    topic_id: bytes = uuid()
    partition: int = int32()


@record(key=0, versions="0", flexible="0+")
class ShareSnapshotValue:
    """Complete state."""

    snapshot_epoch: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    create_timestamp: int = int64()
    write_timestamp: int = int64()
    state_batches: list[StateBatch] = array(StateBatch)


@record(key=1, versions="0")
class ShareUpdateKey:
    """Change of the state."""

    group_id: str = string()
    topic_id: bytes = uuid()
    partition: int = int32()


@record(key=1, versions="0", flexible="0+")
class ShareUpdateValue:
    """Batches of offsets that changed since the snapshot."""

    snapshot_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32(tag=0, default=-1)
    state_batches: list[StateBatch] = array(StateBatch)
