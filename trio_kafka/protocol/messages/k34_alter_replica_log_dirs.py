"""AlterReplicaLogDirs (key 34): move replicas between the log directories of a broker."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@struct
class AlterReplicaLogDirTopic:
    name: str = string(cached=True)
    partitions: list[int] = array(int32)


@struct
class AlterReplicaLogDir:
    path: str = string()
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


@request(key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    """Partitions by target directory."""

    response: ClassVar[type["AlterReplicaLogDirsResponse"]]

    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int = int32()
    error_code: int = int16()


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: str = string(cached=True)
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


@response(AlterReplicaLogDirsRequest)
class AlterReplicaLogDirsResponse:
    """An error code for each partition."""

    throttle_time_ms: int = int32()
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
