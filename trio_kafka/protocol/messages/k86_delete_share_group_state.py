"""DeleteShareGroupState (key 86): delete the state of a share group's partitions (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int32, request, response, string, struct, uuid
from trio_kafka.protocol.structs.share import StateTopicResult


@struct
class PartitionData:
    partition: int = int32()


@struct
class DeleteStateData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    """Delete the state of a share group, by partition (KIP-932)."""

    response: ClassVar[type["DeleteShareGroupStateResponse"]]

    group_id: str = string()
    topics: list[DeleteStateData] = array(DeleteStateData)


@response(DeleteShareGroupStateRequest)
class DeleteShareGroupStateResponse:
    """An error for each partition."""

    results: list[StateTopicResult] = array(StateTopicResult)
