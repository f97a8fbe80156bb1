"""Calls about the log directories of brokers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import Call, Plan, Rejection, perform, result_of
from trio_kafka.clients.admin.calls.execution import item_error
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import BrokerTarget
from trio_kafka.clients.admin.partitions import by_topic
from trio_kafka.clients.errors import NOWHERE, ClientError, Place, error_of
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from trio_kafka.protocol.messages.k35_describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)


@frozen(kw_only=True)
class ReplicaInfo:
    """A replica in a directory. size: bytes. offset_lag: behind the high watermark, or, of a future
    replica, behind the present one. is_future: it will take the place of the present replica.
    """

    size: int
    offset_lag: int
    is_future: bool = False


@frozen(kw_only=True)
class LogDirDescription:
    """A directory. error: None, or why it is offline. total_bytes, usable_bytes: of its volume; -1:
    not known. replica_infos: by partition.
    """

    error: ClientError | None = None
    replica_infos: Mapping[TopicPartition, ReplicaInfo] = field(factory=dict)
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


@frozen(order=True)
class TopicPartitionReplica:
    """Replica of a partition on a broker."""

    topic: str
    partition: int
    broker: int


Directories = dict[str, LogDirDescription]


def describe_log_dirs(
    brokers: Iterable[int], *, partitions: Iterable[TopicPartition] | None = None
) -> Plan[Results[int, Directories]]:
    """Describe the directories of brokers by node id and path. partitions: None: all."""
    topics = None
    if partitions is not None:
        numbers = by_topic(partitions, lambda at: at.partition)
        topics = [DescribableLogDirTopic(name, rows) for name, rows in numbers.items()]
    call: Call[int, DescribeLogDirsResponse, Directories] = Call(
        targets={node: BrokerTarget(node) for node in brokers},
        request=lambda _items, _timeout_ms: DescribeLogDirsRequest(topics),
        read=_read_directories,
    )
    return perform(call)


def alter_replica_log_dirs(
    paths: Mapping[TopicPartitionReplica, str],
) -> Plan[Results[TopicPartitionReplica, None]]:
    """Begin to move replicas to other directories of their brokers."""

    def request(
        items: Sequence[TopicPartitionReplica], _timeout_ms: int
    ) -> AlterReplicaLogDirsRequest:
        by_path = dict[str, list[TopicPartition]]()
        for replica in items:
            at = TopicPartition(replica.topic, replica.partition)
            by_path.setdefault(paths[replica], []).append(at)
        return AlterReplicaLogDirsRequest([_directory(path, ats) for path, ats in by_path.items()])

    return perform(
        Call(
            targets={replica: BrokerTarget(replica.broker) for replica in paths},
            request=request,
            read=_read_moves,
            place=lambda replica: Place(topic=replica.topic, partition=replica.partition),
        )
    )


def _directory(path: str, partitions: Iterable[TopicPartition]) -> AlterReplicaLogDir:
    numbers = by_topic(partitions, lambda at: at.partition)
    topics = [AlterReplicaLogDirTopic(name, rows) for name, rows in numbers.items()]
    return AlterReplicaLogDir(path, topics)


def _read_directories(
    response: DescribeLogDirsResponse, items: Sequence[int]
) -> Iterator[tuple[int, Directories | Rejection]]:
    for node in items:
        directories = {row.log_dir: _description(row) for row in response.results}
        yield node, result_of(response.error_code, None, directories)


def _description(row: DescribeLogDirsResult) -> LogDirDescription:
    error = None
    if row.error_code:
        error = item_error(error_of(row.error_code), row.log_dir, NOWHERE, sent=False)
    return LogDirDescription(
        error=error,
        replica_infos={
            TopicPartition(topic.name, partition.partition_index): ReplicaInfo(
                size=partition.partition_size,
                offset_lag=partition.offset_lag,
                is_future=partition.is_future_key,
            )
            for topic in row.topics
            for partition in topic.partitions
        },
        total_bytes=row.total_bytes,
        usable_bytes=row.usable_bytes,
        is_cordoned=row.is_cordoned,
    )


def _read_moves(
    response: AlterReplicaLogDirsResponse, items: Sequence[TopicPartitionReplica]
) -> Iterator[tuple[TopicPartitionReplica, Rejection | None]]:
    broker = items[0].broker
    for topic in response.results:
        for row in topic.partitions:
            replica = TopicPartitionReplica(topic.topic_name, row.partition_index, broker)
            yield replica, result_of(row.error_code, None, None)
