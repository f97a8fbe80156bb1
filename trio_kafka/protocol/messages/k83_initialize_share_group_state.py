"""InitializeShareGroupState (key 83): initialize the state of share-group partitions (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct
from trio_kafka.protocol.structs.share import StateTopicResult


@struct
class PartitionData:
    partition: int = int32()
    state_epoch: int = int32()
    start_offset: int = int64()


@struct
class InitializeStateData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest:
    """Partitions with their start offsets."""

    response: ClassVar[type["InitializeShareGroupStateResponse"]]

    group_id: str = string()
    topics: list[InitializeStateData] = array(InitializeStateData)


@response(InitializeShareGroupStateRequest)
class InitializeShareGroupStateResponse:
    """An error for each partition."""

    results: list[StateTopicResult] = array(StateTopicResult)
