"""AlterReplicaLogDirs (key 34): move replicas between the log directories of this broker.

Answered when the moves have begun; DescribeLogDirs shows how far they are, and they go on after a
restart. A move to the directory in which the replica is cancels a move. A replica that this broker
does not have yet will be created in the directory, but gets REPLICA_NOT_AVAILABLE. Of a partition
that is named twice the last directory counts, as in Kafka. Source: KIP-113.

Needs ALTER on the cluster.
"""

from functools import partial

from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
    AlterReplicaLogDirTopicResult,
)
from trio_kafka.replication.moves.alter_log_dirs import alter_log_dir
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.table import Replicas
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import Pairs, for_each, rows
from trio_kafka.security.operations import Operation


@api(AlterReplicaLogDirsRequest)
def alter_replica_log_dirs(
    request: AlterReplicaLogDirsRequest, context: Context
) -> Eventual[AlterReplicaLogDirsResponse]:
    paths: dict[str, dict[int, str]] = {}

    def want(named: tuple[tuple[AlterReplicaLogDir, AlterReplicaLogDirTopic], int]) -> None:
        (directory, topic), number = named
        paths.setdefault(topic.name, {})[number] = directory.path

    topics = [(directory, topic) for directory in request.dirs for topic in directory.topics]
    named = Pairs(topics, lambda pair: pair[1].partitions)
    return for_each(named, want, partial(_alter_all, paths, context))


def _alter_all(
    paths: dict[str, dict[int, str]], context: Context
) -> Eventual[AlterReplicaLogDirsResponse]:
    return rows(
        list(paths.items()),
        lambda topic: list(topic[1].items()),
        partial(_alter, context),
        lambda topics: AlterReplicaLogDirsResponse(results=topics),
        group=lambda topic, results: AlterReplicaLogDirTopicResult(topic[0], results),
        refused=lambda _, row, error: AlterReplicaLogDirPartitionResult(row[0], error.code),
        permission=lambda _: context.authorize(Operation.ALTER, cluster=True),
    )


def _alter(
    context: Context, topic: tuple[str, dict[int, str]], row: tuple[int, str]
) -> AlterReplicaLogDirPartitionResult:
    number, path = row
    at = TopicPartition(topic[0], number)
    alter_log_dir(context[Replicas], context[LogMoves], at, path=path)
    return AlterReplicaLogDirPartitionResult(number)
