"""Descriptions of topics, as answers give them."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.topic_descriptions import describe_topics, list_topics
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from trio_kafka.security.operations import Operation, bits

ID = bytes(range(16))


def answering(*topics):
    return Cluster({MetadataRequest: lambda _request: MetadataResponse(topics=list(topics))})


def too_old(_request):
    return UnsupportedError("DescribeTopicPartitions")


def test_broker_without_pages_is_asked_for_metadata():
    rows = [
        MetadataResponsePartition(0, 1, 2, 7, [2, 3], [2], [3]),
        MetadataResponsePartition(0, 0, -1, 6, [1], [], [1]),
    ]
    topic = MetadataResponseTopic(
        0, "a", ID, partitions=rows, topic_authorized_operations=bits([3, 8])
    )
    cluster = answering(topic)
    cluster.answers = {**cluster.answers, DescribeTopicPartitionsRequest: too_old}

    description = cluster.run(describe_topics(["a"], include_authorized_operations=True))["a"]

    first, second = description.partitions
    assert (first.partition, first.leader, first.leader_epoch) == (0, -1, 6)
    assert (second.replicas, second.isr, second.offline_replicas) == ((2, 3), (2,), (3,))
    assert description.authorized_operations == {Operation.READ.name, Operation.DESCRIBE.name}
    assert first.elr is None
    _, (_, request) = cluster.requests
    assert not request.allow_auto_topic_creation
    assert request.include_topic_authorized_operations


def test_ids_are_asked_for_and_read_as_ids():
    cluster = answering(
        MetadataResponseTopic(0, "a", ID),
        MetadataResponseTopic(ErrorCode.UNKNOWN_TOPIC_ID, None, bytes(16)[1:] + b"x"),
    )

    results = cluster.run(describe_topics([ID, bytes(16)[1:] + b"x"]))

    assert results[ID].name == "a"
    assert [error.code for error in results.errors.values()] == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert [topic.name for topic in cluster.requests[0][1].topics] == [None, None]


def test_list_is_sorted_and_has_internal_topics_only_on_demand():
    topics = [
        MetadataResponseTopic(0, "b", ID),
        MetadataResponseTopic(0, "__offsets", is_internal=True),
        MetadataResponseTopic(0, "a"),
    ]

    assert list(answering(*topics).run(list_topics())) == ["a", "b"]
    everything = answering(*topics).run(list_topics(include_internal=True))
    assert list(everything) == ["__offsets", "a", "b"]
    assert everything["__offsets"].is_internal
