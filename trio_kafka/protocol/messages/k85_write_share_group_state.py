"""WriteShareGroupState (key 85): write the state of a share group's partitions (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.share import StateBatch, StateTopicResult


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

    response: ClassVar[type["WriteShareGroupStateResponse"]]

    group_id: str = string()
    topics: list[WriteStateData] = array(WriteStateData)


@response(WriteShareGroupStateRequest)
class WriteShareGroupStateResponse:
    """An error for each partition."""

    results: list[StateTopicResult] = array(StateTopicResult)
