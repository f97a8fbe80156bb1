"""Requests about committed offsets, to the coordinators of groups."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.group_offsets import (
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    list_consumer_group_offsets,
)
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def fetched(*rows):
    """partition, offset, error code."""
    partitions = [
        OffsetFetchResponsePartitions(n, offset, 2, "x", code) for n, offset, code in rows
    ]
    topics = [OffsetFetchResponseTopics(name="t", partitions=partitions)]
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics)])


def test_each_group_has_a_request_of_its_own_to_its_coordinator():
    cluster = Cluster({OffsetFetchRequest: lambda _request: fetched((0, 5, 0), (1, -1, 0))})

    results = cluster.run(
        list_consumer_group_offsets({"g": [T0, T1], "hh": None}, require_stable=True)
    )

    assert results["g"].all() == {T0: OffsetAndMetadata(5, 2, "x"), T1: None}
    requests = {request.groups[0].group_id: (node, request) for node, request in cluster.requests}
    assert {group: node for group, (node, _) in requests.items()} == {"g": 2, "hh": 1}
    assert requests["g"][1].groups[0].topics[0].partition_indexes == [0, 1]
    assert requests["hh"][1].groups[0].topics is None
    assert all(request.require_stable for _, request in requests.values())


def test_offset_that_a_transaction_commits_is_asked_for_again():
    answers = [fetched((0, -1, ErrorCode.UNSTABLE_OFFSET_COMMIT)), fetched((0, 5, 0))]
    cluster = Cluster({OffsetFetchRequest: lambda _request: answers.pop(0)})

    results = cluster.run(list_consumer_group_offsets({"g": [T0]}))

    assert results["g"][T0].offset == 5
    assert len(cluster.requests) == 2


def test_error_of_one_partition_keeps_the_others():
    answer = fetched((0, 5, 0), (1, -1, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    cluster = Cluster({OffsetFetchRequest: lambda _request: answer})

    offsets = cluster.run(list_consumer_group_offsets({"g": [T0, T1]}))["g"]

    assert offsets[T0].offset == 5
    error = offsets.errors[T1]
    assert (error.topic, error.partition, error.group) == ("t", 1, "g")


def test_commit_is_that_of_no_member():
    codes = [0, ErrorCode.OFFSET_METADATA_TOO_LARGE]

    def answer(_request):
        rows = [OffsetCommitResponsePartition(number, code) for number, code in enumerate(codes)]
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=rows)])

    cluster = Cluster({OffsetCommitRequest: answer})
    offsets = {T0: OffsetAndMetadata(5, 2, "x"), T1: OffsetAndMetadata(6)}

    results = cluster.run(alter_consumer_group_offsets("g", offsets))

    ((node, request),) = cluster.requests
    assert (node, request.member_id, request.generation_id_or_member_epoch) == (2, "", -1)
    assert results[T0] is None
    assert results.errors[T1].group == "g"


def test_error_of_a_whole_group_is_one_of_each_partition():
    answers = [
        OffsetDeleteResponse(ErrorCode.NON_EMPTY_GROUP),
        OffsetDeleteResponse(
            topics=[
                OffsetDeleteResponseTopic(
                    "t",
                    [
                        OffsetDeleteResponsePartition(0),
                        OffsetDeleteResponsePartition(1, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
                    ],
                )
            ]
        ),
    ]
    cluster = Cluster({OffsetDeleteRequest: lambda _request: answers.pop(0)})

    first = cluster.run(delete_consumer_group_offsets("g", [T0, T1]))
    second = cluster.run(delete_consumer_group_offsets("g", [T0, T1]))

    assert {error.code for error in first.errors.values()} == {ErrorCode.NON_EMPTY_GROUP}
    assert len(first.errors) == 2
    assert second[T0] is None
    assert second.errors[T1].code is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
