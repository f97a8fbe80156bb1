"""WriteShareGroupState (key 85): write the state of a share group's partitions (KIP-932)."""

from trio_kafka.protocol.fields import array, int8, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class StateBatch:
    first_offset: int = int64()
    last_offset: int = int64()
    delivery_state: int = int8()
    delivery_count: int = int16()


@struct
class PartitionData:
    partition: int = int32()
    state_epoch: int = int32()
    leader_epoch: int = int32()
    start_offset: int = int64()
    delivery_complete_count: int = int32("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = array(StateBatch)


@struct
class WriteStateData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest:
    """Start offsets, and the states of later records in batches."""

    group_id: str = string()
    topics: list[WriteStateData] = array(WriteStateData)


@struct
class PartitionResult:
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class WriteStateResult:
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(WriteShareGroupStateRequest)
class WriteShareGroupStateResponse:
    """An error for each partition."""

    results: list[WriteStateResult] = array(WriteStateResult)
