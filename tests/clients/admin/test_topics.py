"""Requests that create and delete topics, and what their answers say."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.topic_values import NewPartitions, NewTopic
from trio_kafka.clients.admin.topics import (
    create_partitions,
    create_topics,
    delete_topics,
    place_of,
)
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

ID = bytes(range(16))


def test_topic_has_numbers_assignments_and_settings_or_the_defaults_of_the_broker():
    cluster = Cluster({CreateTopicsRequest: lambda _request: CreateTopicsResponse()})
    topics = [
        NewTopic("a", num_partitions=3, configs={"x": "1"}),
        NewTopic("b", replicas_assignments={1: [2], 0: [1, 2]}),
    ]

    cluster.run(create_topics(topics, validate_only=True))

    ((node, request),) = cluster.requests
    first, second = request.topics
    assert (node, request.timeout_ms, request.validate_only) == (None, 5000, True)
    assert (first.num_partitions, first.replication_factor) == (3, -1)
    assert [(config.name, config.value) for config in first.configs] == [("x", "1")]
    assert (second.num_partitions, second.replication_factor) == (-1, -1)
    assert [(row.partition_index, row.broker_ids) for row in second.assignments] == [
        (0, [1, 2]),
        (1, [2]),
    ]


def test_assignments_beside_a_number_are_an_error():
    with pytest.raises(ValueError, match="topic a: give assignments or numbers"):
        Cluster({CreateTopicsRequest: lambda _request: None}).run(
            create_topics([NewTopic("a", num_partitions=1, replicas_assignments={0: [1]})])
        )


def test_creation_that_exceeds_a_quota_is_tried_again():
    codes = [ErrorCode.THROTTLING_QUOTA_EXCEEDED, 0]

    def answer(_request):
        configs = [CreatableTopicConfigs("x", "1"), CreatableTopicConfigs("secret", None)]
        row = CreatableTopicResult(
            "a", ID, codes.pop(0), num_partitions=3, replication_factor=2, configs=configs
        )
        return CreateTopicsResponse(topics=[row])

    created = Cluster({CreateTopicsRequest: answer}).run(create_topics([NewTopic("a")]))["a"]

    assert (created.topic_id, created.num_partitions, created.replication_factor) == (ID, 3, 2)
    assert created.configs == {"x": "1", "secret": None}


def test_topics_are_deleted_by_name_where_the_broker_knows_no_ids():
    def answer(request):
        if request.topics:
            return UnsupportedError("too old")
        return DeleteTopicsResponse(
            responses=[DeletableTopicResult(name, error_code=0) for name in request.topic_names]
        )

    cluster = Cluster({DeleteTopicsRequest: answer})

    assert cluster.run(delete_topics(["a", "b"])).all() == {"a": None, "b": None}
    assert isinstance(cluster.run(delete_topics(["a", ID])).errors[ID], UnsupportedError)


def test_answer_about_an_id_may_or_may_not_have_the_name():
    rows = [DeletableTopicResult("x", ID), DeletableTopicResult("b", bytes(15) + b"b", 7)]
    cluster = Cluster({DeleteTopicsRequest: lambda _request: DeleteTopicsResponse(responses=rows)})

    results = cluster.run(delete_topics([ID, "b"]))

    assert results[ID] is None
    assert results.errors["b"].code is ErrorCode.REQUEST_TIMED_OUT
    assert [(row.name, row.topic_id) for row in cluster.requests[0][1].topics] == [
        (None, ID),
        ("b", bytes(16)),
    ]


def test_new_partitions_have_a_total_and_optional_assignments():
    def answer(request):
        rows = [CreatePartitionsTopicResult(topic.name) for topic in request.topics]
        return CreatePartitionsResponse(results=rows)

    cluster = Cluster({CreatePartitionsRequest: answer})
    news = {"a": NewPartitions(4), "b": NewPartitions(3, [[1], [2]])}

    assert cluster.run(create_partitions(news)).all() == {"a": None, "b": None}
    first, second = cluster.requests[0][1].topics
    assert (first.count, first.assignments) == (4, None)
    assert [row.broker_ids for row in second.assignments or ()] == [[1], [2]]


def test_topic_id_is_shown_as_kafka_prints_it():
    assert place_of(ID).topic == "AAECAwQFBgcICQoLDA0ODw"
