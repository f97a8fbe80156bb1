"""Requests about the records of partitions, to their leaders."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.records import (
    EARLIEST,
    LATEST,
    delete_records,
    for_timestamp,
    list_offsets,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_each_leader_is_asked_for_the_offsets_of_its_partitions():
    def answer(request):
        topics = [
            ListOffsetsTopicResponse(
                topic.name,
                [
                    ListOffsetsPartitionResponse(row.partition_index, 0, row.timestamp, 5, 6)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    cluster = Cluster({ListOffsetsRequest: answer})
    specs = {T0: LATEST, T1: EARLIEST, U0: for_timestamp(77)}

    infos = cluster.run(list_offsets(specs, read_committed=True)).all()

    assert {at: info.timestamp for at, info in infos.items()} == {T0: -1, T1: -2, U0: 77}
    assert (infos[T0].offset, infos[T0].leader_epoch) == (5, 6)
    assert [
        (node, [topic.name for topic in request.topics]) for node, request in cluster.requests
    ] == [
        (1, ["t", "u"]),
        (2, ["t"]),
    ]
    assert {request.isolation_level for _, request in cluster.requests} == {1}


def test_time_before_1970_is_an_error():
    with pytest.raises(ValueError, match="timestamp -1"):
        for_timestamp(-1)


def test_leader_that_has_moved_gets_only_its_own_partitions_again():
    codes = {T0: [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0], U0: [0]}

    def answer(request):
        topics = [
            DeleteRecordsTopicResult(
                topic.name,
                [
                    DeleteRecordsPartitionResult(
                        row.partition_index,
                        row.offset + 100,
                        codes[TopicPartition(topic.name, row.partition_index)].pop(0),
                    )
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return DeleteRecordsResponse(topics=topics)

    cluster = Cluster({DeleteRecordsRequest: answer})

    assert cluster.run(delete_records({T0: 3, U0: 4})).all() == {T0: 103, U0: 104}
    assert [len(request.topics) for _, request in cluster.requests] == [2, 1]
    assert len(cluster.lookups) == 2
