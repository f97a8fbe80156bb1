"""Requests about the producers of partitions."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.producers import (
    AbortTransactionSpec,
    abort_transaction,
    describe_producers,
)
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages import k27_write_txn_markers as k27
from trio_kafka.protocol.messages import k61_describe_producers as k61

T1 = TopicPartition("t", 1)


def described(request):
    topics = [
        k61.TopicResponse(
            topic.name,
            [
                k61.PartitionResponse(
                    number,
                    active_producers=[
                        k61.ProducerState(7, 3, 5, 99, -1, 20),
                        k61.ProducerState(8, 0, 1, 98, 2, -1),
                    ],
                )
                for number in topic.partition_indexes
            ],
        )
        for topic in request.topics
    ]
    return k61.DescribeProducersResponse(topics=topics)


def test_producers_have_an_offset_only_in_a_transaction():
    cluster = Cluster({k61.DescribeProducersRequest: described})

    first, second = cluster.run(describe_producers([T1]))[T1]

    assert [node for node, _ in cluster.requests] == [2]
    assert (first.producer_id, first.producer_epoch, first.last_sequence) == (7, 3, 5)
    assert (first.last_timestamp, first.coordinator_epoch) == (99, None)
    assert first.current_transaction_start_offset == 20
    assert (second.coordinator_epoch, second.current_transaction_start_offset) == (2, None)


def test_replica_on_a_broker_is_asked_instead_of_the_leader():
    cluster = Cluster({k61.DescribeProducersRequest: described})

    cluster.run(describe_producers([T1], broker_id=1))

    assert [node for node, _ in cluster.requests] == [1]


def test_partitions_are_asked_for_500_at_a_time():
    cluster = Cluster({k61.DescribeProducersRequest: described})
    partitions = [TopicPartition(topic, number) for topic in "ab" for number in range(600)]

    results = cluster.run(describe_producers(partitions, broker_id=1))

    assert list(results) == partitions
    assert [
        [(topic.name, len(topic.partition_indexes)) for topic in request.topics]
        for _, request in cluster.requests
    ] == [[("a", 500)], [("a", 100), ("b", 400)], [("b", 200)]]


@pytest.mark.parametrize(("epoch", "sent"), [(None, 0), (9, 9)])
def test_marker_aborts_one_transaction_in_one_partition(epoch, sent):
    codes = [0, ErrorCode.INVALID_PRODUCER_EPOCH]

    def answer(request):
        (marker,) = request.markers
        rows = [k27.WritableTxnMarkerPartitionResult(1, codes.pop(0))]
        topics = [k27.WritableTxnMarkerTopicResult("t", rows)]
        return k27.WriteTxnMarkersResponse(
            [k27.WritableTxnMarkerResult(marker.producer_id, topics)]
        )

    cluster = Cluster({k27.WriteTxnMarkersRequest: answer})
    spec = AbortTransactionSpec(
        partition=T1, producer_id=7, producer_epoch=3, coordinator_epoch=epoch
    )

    assert cluster.run(abort_transaction(spec)) is None
    with pytest.raises(ClientError, match="t-1 at broker 2: INVALID_PRODUCER_EPOCH"):
        cluster.run(abort_transaction(spec))

    node, request = cluster.requests[0]
    (marker,) = request.markers
    assert (node, marker.transaction_result, marker.coordinator_epoch) == (2, False, sent)
    assert (marker.producer_id, marker.producer_epoch) == (7, 3)
    assert [(topic.name, topic.partition_indexes) for topic in marker.topics] == [("t", [1])]
