"""DeleteShareGroupState (key 86): delete the state of a share group's partitions (KIP-932)."""

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct, uuid


@struct
class PartitionData:
    partition: int = int32()


@struct
class DeleteStateData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@request(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    """Partitions."""

    group_id: str = string()
    topics: list[DeleteStateData] = array(DeleteStateData)


@struct
class PartitionResult:
    partition: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)


@struct
class DeleteStateResult:
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@response(DeleteShareGroupStateRequest)
class DeleteShareGroupStateResponse:
    """An error for each partition."""

    results: list[DeleteStateResult] = array(DeleteStateResult)
