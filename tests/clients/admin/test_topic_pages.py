"""Descriptions of topics that come in pages."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.topic_descriptions import describe_topics
from trio_kafka.clients.errors import ClientError, TopicError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

Row = DescribeTopicPartitionsResponseTopic
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def row(name, *numbers, code=0):
    partitions = [
        DescribeTopicPartitionsResponsePartition(
            partition_index=number,
            leader_id=1,
            replica_nodes=[1, 2],
            isr_nodes=[1],
            eligible_leader_replicas=[2],
        )
        for number in numbers
    ]
    return Row(error_code=code, name=name, partitions=partitions)


def cluster_of(*pages):
    """A cluster that answers with one page after the other."""
    rest = iter(pages)

    def answer(_request):
        rows, cursor = next(rest)
        return DescribeTopicPartitionsResponse(topics=rows, next_cursor=cursor)

    return Cluster({DescribeTopicPartitionsRequest: answer})


def test_topic_over_several_pages_is_put_together_and_each_page_begins_at_the_cursor():
    cluster = cluster_of(
        ([row("a", 0), row("b", 0)], Cursor("b", 1)),
        ([row("b", 1, 2)], Cursor("c", 0)),
        ([row("c", code=UNKNOWN), row("d", 0)], None),
    )

    results = cluster.run(
        describe_topics(["d", "c", "b", "a"], partition_size_limit_per_response=2)
    )

    assert [topic.name for topic in results.values_by_item.values()] == ["d", "b", "a"]
    assert [info.partition for info in results["b"].partitions] == [0, 1, 2]
    assert results["a"].partitions[0].elr == (2,)
    assert results["a"].authorized_operations is None
    with pytest.raises(TopicError, match="c"):
        results["c"]
    requests = [request for _, request in cluster.requests]
    assert [request.cursor for request in requests] == [None, Cursor("b", 1), Cursor("c", 0)]
    assert [[topic.name for topic in request.topics] for request in requests] == [
        ["a", "b", "c", "d"],
        ["b", "c", "d"],
        ["c", "d"],
    ]
    assert {request.response_partition_limit for request in requests} == {2}


def test_topic_whose_error_may_pass_is_asked_for_again_after_the_last_page():
    cluster = cluster_of(
        ([row("a", code=ErrorCode.LEADER_NOT_AVAILABLE), row("b", 0)], Cursor("b", 1)),
        ([row("b", 1)], None),
        ([row("a", 0)], None),
    )

    results = cluster.run(describe_topics(["a", "b"]))

    assert {name: len(topic.partitions) for name, topic in results.all().items()} == {
        "a": 1,
        "b": 2,
    }


@pytest.mark.parametrize("cursor", [Cursor("b", 1), Cursor("a", 3)])
def test_broker_whose_pages_do_not_go_on_is_an_error(cursor):
    page = ([row("b", 0)], cursor)
    cluster = cluster_of(([row("a", 0), row("b", 0)], Cursor("b", 1)), page, page)

    results = cluster.run(describe_topics(["a", "b"]))

    assert len(results["a"].partitions) == 1
    with pytest.raises(ClientError, match="does not name it"):
        results["b"]
