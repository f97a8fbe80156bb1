"""AssignReplicasToDirs (key 73): report the log directories of a broker's replicas (KIP-858)."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, int64, request, response, struct, uuid


@struct
class PartitionData:
    partition_index: int = int32()


@struct
class TopicData:
    topic_id: bytes = uuid()
    partitions: list[PartitionData] = array(PartitionData)


@struct
class DirectoryData:
    id: bytes = uuid()
    topics: list[TopicData] = array(TopicData)


@request(key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    """Tell the controller which directory holds which replica (KIP-858)."""

    response: ClassVar[type["AssignReplicasToDirsResponse"]]

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    directories: list[DirectoryData] = array(DirectoryData)


@struct
class PartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class TopicResult:
    topic_id: bytes = uuid()
    partitions: list[PartitionResult] = array(PartitionResult)


@struct
class DirectoryResult:
    id: bytes = uuid()
    topics: list[TopicResult] = array(TopicResult)


@response(AssignReplicasToDirsRequest)
class AssignReplicasToDirsResponse:
    """An error code for each partition."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    directories: list[DirectoryResult] = array(DirectoryResult)
