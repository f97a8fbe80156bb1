"""What is too large for one go is known before it is written."""

import pytest

from trio_kafka.protocol.messages.k03_metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.protocol.schema import array, data, int32, string
from trio_kafka.protocol.size_check import MANY, size_check


@data(versions="0")
class Lists:
    numbers: list[int] = array(int32)
    words: list[str] | None = array(string, nullable="0+")


def metadata(*sizes: int) -> MetadataResponse:
    partitions = [MetadataResponsePartition()]
    return MetadataResponse(
        topics=[MetadataResponseTopic(partitions=partitions * size) for size in sizes]
    )


def offsets(size: int) -> OffsetFetchResponse:
    """One group, one topic."""
    topic = OffsetFetchResponseTopics(partitions=[OffsetFetchResponsePartitions()] * size)
    return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(topics=[topic])])


@pytest.mark.parametrize(
    ("message", "large"),
    [
        (metadata(), False),
        (metadata(MANY - 1), False),
        (metadata(MANY), True),  # and the topic itself
        (metadata(*[1] * (MANY // 2)), False),
        (metadata(*[1] * (MANY // 2 + 1)), True),
        (metadata(*[0] * MANY), False),
        (metadata(*[0] * (MANY + 1)), True),
        (ApiVersionsResponse(api_keys=[ApiVersion(1, 0, 1)] * MANY), False),
        (ApiVersionsResponse(api_keys=[ApiVersion(1, 0, 1)] * (MANY + 1)), True),
        (Lists(numbers=[1] * 100_000, words=None), False),
        (Lists(words=["a"] * (MANY + 1)), True),
        (offsets(MANY - 2), False),
        (offsets(MANY - 1), True),
        (MetadataResponse(topics=(MetadataResponseTopic(),)), True),  # type: ignore[arg-type]
    ],
)
def test_items_of_arrays_are_counted_as_deep_as_messages_grow(message: object, large: bool) -> None:
    assert size_check(type(message))(message) is large
