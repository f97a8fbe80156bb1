"""Requests about log directories, to their brokers."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.log_dirs import (
    TopicPartitionReplica,
    alter_replica_log_dirs,
    describe_log_dirs,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k34_alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from trio_kafka.protocol.messages.k35_describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_directory_that_is_offline_has_an_error_of_its_own():
    topics = [DescribeLogDirsTopic("t", [DescribeLogDirsPartition(1, 100, 7, True)])]
    rows = [
        DescribeLogDirsResult(0, "/a", topics, 1000, 900, is_cordoned=True),
        DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "/b"),
    ]
    response = DescribeLogDirsResponse(results=rows)
    cluster = Cluster({DescribeLogDirsRequest: lambda _request: response})

    directories = cluster.run(describe_log_dirs([1, 2], partitions=[T1]))[2]

    assert [node for node, _ in cluster.requests] == [1, 2]
    assert cluster.requests[0][1].topics[0].partitions == [1]
    first, second = directories["/a"], directories["/b"]
    assert (first.total_bytes, first.usable_bytes, first.is_cordoned) == (1000, 900, True)
    info = first.replica_infos[T1]
    assert (info.size, info.offset_lag, info.is_future) == (100, 7, True)
    assert (first.error, second.error.code) == (None, ErrorCode.KAFKA_STORAGE_ERROR)


def test_replicas_are_moved_by_their_brokers_and_named_with_them():
    def answer(request):
        rows = [
            AlterReplicaLogDirPartitionResult(number, 57 if directory.path == "/b" else 0)
            for directory in request.dirs
            for topic in directory.topics
            for number in topic.partitions
        ]
        return AlterReplicaLogDirsResponse(results=[AlterReplicaLogDirTopicResult("t", rows)])

    cluster = Cluster({AlterReplicaLogDirsRequest: answer})
    first, second, third = (
        TopicPartitionReplica("t", number, node) for number, node in ((0, 1), (1, 1), (0, 2))
    )

    results = cluster.run(alter_replica_log_dirs({first: "/a", second: "/b", third: "/a"}))

    assert [(node, [row.path for row in request.dirs]) for node, request in cluster.requests] == [
        (1, ["/a", "/b"]),
        (2, ["/a"]),
    ]
    assert set(results.values_by_item) == {first, third}
    assert results.errors[second].code is ErrorCode.LOG_DIR_NOT_FOUND
