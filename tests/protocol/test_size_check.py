"""Messages that are too large for one go are known before they are written."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.attacks.test_large_requests import apis
from trio_kafka.protocol.fields import FIXED, Field
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
from trio_kafka.protocol.schema import array, data, fields_of, int32, string
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
def test_the_size_check_counts_items_of_nested_arrays(message: object, large: bool) -> None:
    assert size_check(type(message))(message) is large


def fillings(cls: type[Any], items: Any) -> Iterator[Any]:
    """Messages of which one array, at any depth, is `items`; arrays above it have one item."""
    for field in fields_of(cls):
        if field.kind != "array" or field.of is None or field.of.kind in FIXED:
            continue
        yield filled(cls, field, items)
        if field.of.struct is not None:
            for part in fillings(field.of.struct, items):
                yield filled(cls, field, [part])


def filled(cls: type[Any], field: Field, items: Any) -> Any:
    message = cls()
    setattr(message, field.name, items)
    return message


@pytest.mark.parametrize("response", [api.response for api in apis()])
def test_a_response_with_many_items_in_any_array_is_large(response: type[Any]) -> None:
    is_large = size_check(response)

    assert not is_large(response())
    for message in fillings(response, [response()] * (MANY + 1)):
        assert is_large(message), message
    for message in fillings(response, (response(),)):  # made while it is written
        assert is_large(message), message
    for message in fillings(response, [response()] * 0):
        assert not is_large(message), message
