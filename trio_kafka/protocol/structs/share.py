"""Structs that several messages and records of share groups share."""

from trio_kafka.protocol.fields import array, int8, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import struct


@struct
class AcknowledgementBatch:
    """Offsets that a member of a share group acknowledges."""

    first_offset: int = int64()
    last_offset: int = int64()
    acknowledge_types: list[int] = array(int8)


@struct
class LeaderIdAndEpoch:
    """Current leader of a partition."""

    leader_id: int = int32()
    leader_epoch: int = int32()


@struct
class ShareNodeEndpoint:
    """Address of a leader, in responses to members of share groups."""

    node_id: int = int32()
    host: str = string()
    port: int = int32()
    rack: str | None = string(nullable="0+", default=None)


@struct
class StateBatch:
    """Delivery state of a range of offsets of a share group."""

    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


@struct
class StatePartitionResult:
    """Result of one partition for a change of share state."""

    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class StateTopicResult:
    """Results of one topic for a change of share state."""

    topic_id: bytes = uuid()
    partitions: list[StatePartitionResult] = array(StatePartitionResult)
