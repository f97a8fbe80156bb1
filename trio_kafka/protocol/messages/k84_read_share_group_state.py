"""ReadShareGroupState (key 84): read the state of a share group's partitions (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.share import StateBatch


@struct
class PartitionData:
    partition: int = int32()
    leader_epoch: int = int32()


@struct
class ReadStateData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest:
    """Partitions with the epochs of their leaders."""

    response: ClassVar[type["ReadShareGroupStateResponse"]]

    group_id: str = string()
    topics: list[ReadStateData] = array(ReadStateData)


@struct
class PartitionResult:
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    state_epoch: int = int32()
    start_offset: int = int64()
    state_batches: list[StateBatch] = array(StateBatch)


@struct
class ReadStateResult:
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(ReadShareGroupStateRequest)
class ReadShareGroupStateResponse:
    """Start offsets, and the states of later records in batches."""

    results: list[ReadStateResult] = array(ReadStateResult)
