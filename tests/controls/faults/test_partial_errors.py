"""Errors in some parts of a response, the real answer in the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.controls.faults.partial_errors import NoPlaceError, PartialErrors, combined
from trio_kafka.controls.faults.parts import NamedParts, Names
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from trio_kafka.protocol.messages.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)

MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER
PARTS = NamedParts(lambda _: None)


def errors(version: int = 0, **about: Any) -> PartialErrors:
    def decides(names: Names) -> bool:
        return all(getattr(names, name) == value for name, value in about.items())

    return PartialErrors(parts=PARTS, version=version, code=MOVED, text="why", decides=decides)


def offsets(partitions: set[tuple[str, int]]) -> ListOffsetsRequest:
    names = sorted({name for name, _ in partitions})
    return ListOffsetsRequest(
        topics=[
            ListOffsetsTopic(
                name, [ListOffsetsPartition(n) for topic, n in sorted(partitions) if topic == name]
            )
            for name in names
        ]
    )


def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
    """The answer of a broker, with the partition's number as offset."""
    return ListOffsetsResponse(
        throttle_time_ms=3,
        topics=[
            ListOffsetsTopicResponse(
                topic.name,
                [
                    ListOffsetsPartitionResponse(
                        partition.partition_index, offset=partition.partition_index
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def rows(response: ListOffsetsResponse) -> list[tuple[str, int, int, int]]:
    return [
        (topic.name, partition.partition_index, partition.error_code, partition.offset)
        for topic in response.topics
        for partition in topic.partitions
    ]


partition_sets = st.sets(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1)


@given(partitions=partition_sets, failing=partition_sets)
def test_each_partition_is_answered_once_in_request_order(
    partitions: set[tuple[str, int]], failing: set[tuple[str, int]]
) -> None:
    request = offsets(partitions)

    def fails(names: Names) -> bool:
        return (names.topic, names.partition) in failing

    rest = PARTS.only(request, lambda names: not fails(names))
    wrong = PARTS.only(request, fails)
    response = ListOffsetsResponse(throttle_time_ms=3) if rest is None else answer(rest)
    if wrong is not None:
        response = combined(response, errors().response(wrong, ListOffsetsResponse), request)

    assert rows(response) == [
        (name, n, MOVED, -1) if (name, n) in failing else (name, n, 0, n)
        for name, n in sorted(partitions)
    ]
    assert response.throttle_time_ms == 3


def test_error_replaces_a_part_in_a_copy_of_the_response() -> None:
    request = offsets({("a", 0), ("a", 1)})
    real = answer(request)
    before = rows(real)

    wrong = errors().response(offsets({("a", 1)}), ListOffsetsResponse)
    result = combined(real, wrong, request)

    assert rows(result) == [("a", 0, 0, 0), ("a", 1, MOVED, -1)]
    assert rows(real) == before


def test_combined_response_has_one_row_per_topic() -> None:
    real = FetchResponse(
        responses=[
            FetchableTopicResponse("a", partitions=[PartitionData(0)]),
            FetchableTopicResponse("b", partitions=[PartitionData(0)]),
            FetchableTopicResponse("a", partitions=[PartitionData(1)]),
        ]
    )
    bad = PartitionData(1, int(MOVED))
    wrong = FetchResponse(responses=[FetchableTopicResponse("a", partitions=[bad])])

    result = combined(real, wrong, None)

    assert [
        (row.topic, partition.partition_index, partition.error_code)
        for row in result.responses
        for partition in row.partitions
    ] == [("a", 0, 0), ("a", 1, MOVED), ("b", 0, 0)]


def test_error_is_set_in_the_outermost_part_that_the_rule_matches() -> None:
    request = OffsetDeleteRequest(
        "g", topics=[OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(1)])]
    )

    whole = errors(group="g").response(request, OffsetDeleteResponse)
    part = errors(topic="t").response(request, OffsetDeleteResponse)

    assert (whole.error_code, whole.topics) == (MOVED, [])
    assert part.error_code == 0
    assert part.topics[0].partitions[0].error_code == MOVED


def test_error_part_of_a_partition_number_has_the_error_message() -> None:
    request = DescribeProducersRequest([TopicRequest("t", [4])])

    response = errors(topic="t").response(request, DescribeProducersResponse)

    (part,) = response.topics[0].partitions
    assert (part.partition_index, part.error_code, part.error_message) == (4, MOVED, "why")


def test_response_without_an_error_code_field_raises_no_place_error() -> None:
    request = offsets({("a", 0)})

    with pytest.raises(NoPlaceError, match="has no error code in version 0"):
        errors(topic="a").response(request, type(request))
