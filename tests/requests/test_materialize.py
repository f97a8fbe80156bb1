"""Answers as messages that can be read."""

from array import array
from typing import Any

import pytest

from trio_kafka.plugin import lazily
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k01_fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
)
from trio_kafka.protocol.messages.k01_fetch import PartitionData as Fetched
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.api import api_of
from trio_kafka.requests.lazy_arrays import in_columns
from trio_kafka.requests.materialize import has_ranges, materialized, release_ranges
from trio_kafka.requests.replies import Encoded, make_route
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka_apis.k01_fetch import fetch
from trio_kafka_apis.k03_metadata import metadata


class Lease:
    key, end, cut = 0, 10, False

    def __init__(self) -> None:
        self.released = 0

    def release(self) -> None:
        self.released += 1


def fetched(*leases: Lease) -> FetchResponse:
    rows: list[Any] = [Fetched(records=FileRange(lease, 0, 5)) for lease in leases]  # type: ignore[arg-type]
    return FetchResponse(responses=[FetchableTopicResponse(partitions=rows)])


def many(topics: int) -> MetadataResponse:
    def partitions(n: int) -> MetadataResponseTopic:
        return MetadataResponseTopic(
            name=f"t-{n}",
            partitions=lazily(range(3), lambda at: MetadataResponsePartition(partition_index=at)),
        )

    return MetadataResponse(topics=lazily(range(topics), partitions))


@pytest.mark.parametrize("encoded", [False, True])
def test_encoded_and_lazy_responses_are_materialized_in_steps(encoded: bool) -> None:
    api = api_of(metadata)
    assert api is not None
    route = make_route(api, 12)
    answer: Any = Encoded(to_bytes(many(400), 12)) if encoded else many(400)
    steps, count = materialized(route, answer), 0
    try:
        while True:
            next(steps)
            count += 1
    except StopIteration as end:
        message = end.value

    assert count >= 40
    assert [len(topic.partitions) for topic in message.topics] == [3] * 400
    message.topics[7].partitions[2].error_code = 9
    assert message.topics[7].partitions[2].error_code == 9
    assert whole(materialized(route, message)) is message


def test_file_ranges_are_released_unless_the_kept_response_has_them() -> None:
    first, second = Lease(), Lease()
    answer = fetched(first, second)
    kept = FetchResponse(
        responses=[FetchableTopicResponse(partitions=answer.responses[0].partitions[1:])]
    )
    release_ranges(answer, unless=kept)
    assert (first.released, second.released) == (1, 0)
    release_ranges(kept)
    assert (first.released, second.released) == (1, 1)
    release_ranges(None)


def test_only_responses_with_records_can_have_file_ranges() -> None:
    assert has_ranges(FetchResponse)
    assert not has_ranges(MetadataResponse)


def test_columns_of_a_response_are_materialized() -> None:
    rows = in_columns(AbortedTransaction, (array("q", [7, 8]), array("q", [1, 2])))
    partition = Fetched(aborted_transactions=rows)
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])])

    whole(materialized(make_route(api_of(fetch), 12), response))

    assert partition.aborted_transactions == [AbortedTransaction(7, 1), AbortedTransaction(8, 2)]
