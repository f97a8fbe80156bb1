"""AlterReplicaLogDirs (key 34): move replicas between the log directories of this broker.

Answered when the moves have begun; DescribeLogDirs shows how far they are, and they go on after a
restart. A move to the directory in which the replica is cancels a move. A replica that this broker
does not have yet will be created in the directory, but gets REPLICA_NOT_AVAILABLE. Of a partition
that is named twice the last directory counts, as in Kafka. Source: KIP-113.

Needs ALTER on the cluster.
"""

from typing import Final

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    KafkaError,
    Operation,
    Steps,
    TopicPartition,
    alter_log_dir,
    api,
    in_slices,
    rows_of,
)
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

STEP: Final = 1000  # partitions in one step; each that moves is a step


@api(AlterReplicaLogDirsRequest)
def alter_replica_log_dirs(
    request: AlterReplicaLogDirsRequest, context: Context
) -> Steps[AlterReplicaLogDirsResponse]:
    denial = None
    if not context.is_authorized(Operation.ALTER, cluster=True):
        denial = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    wanted: dict[str, dict[int, str]] = {}
    for directory in request.dirs:
        for topic in directory.topics:
            for some in in_slices(topic.partitions, STEP):
                wanted.setdefault(topic.name, {}).update(dict.fromkeys(some, directory.path))
                yield
    response = AlterReplicaLogDirsResponse()
    for name, paths in wanted.items():
        codes: dict[int, ErrorCode] = {}
        for number, path in paths.items():
            codes[number] = denial or _alter(TopicPartition(name, number), path, context)
            yield
        response.results.append(AlterReplicaLogDirTopicResult(name, rows_of(codes.items(), _row)))
    return response


def _alter(at: TopicPartition, path: str, context: Context) -> ErrorCode:
    try:
        alter_log_dir(context.replicas, at, path)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _row(numbered: tuple[int, ErrorCode]) -> AlterReplicaLogDirPartitionResult:
    return AlterReplicaLogDirPartitionResult(*numbered)
