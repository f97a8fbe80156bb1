"""Topics by names and patterns."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.near_names import nearest
from trio_kafka.cli.topics import check_leaders, find_topics
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPICS = [
    MetadataResponseTopic(name="orders"),
    MetadataResponseTopic(name="orders-1"),
    MetadataResponseTopic(name="__consumer_offsets", is_internal=True),
    MetadataResponseTopic(name="secret", error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)),
]


def names(*patterns: str, regex: bool = False) -> list[str | None]:
    def send(_request: object) -> MetadataResponse:
        return MetadataResponse(topics=list(TOPICS))

    return [topic.name for topic in find_topics(send, patterns, regex=regex)]


def test_names_and_patterns_choose_topics_once() -> None:
    assert names("orders-1", "orders*") == ["orders", "orders-1"]
    assert names("order.", regex=True) == ["orders"]


def test_only_named_topics_are_asked_for_unless_one_is_missing() -> None:
    requests: list[list[str | None] | None] = []

    def send(request: MetadataRequest) -> MetadataResponse:
        expected = request.topics and [topic.name for topic in request.topics]
        requests.append(expected)
        by_name = {topic.name: topic for topic in TOPICS}
        missing = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return MetadataResponse(
            topics=[
                by_name.get(name, MetadataResponseTopic(name=name, error_code=missing))
                for name in expected or by_name
            ]
        )

    topics = find_topics(send, ["orders-1", "orders", "orders"])
    assert [topic.name for topic in topics] == ["orders", "orders-1"]
    assert requests == [["orders", "orders-1"]]
    with pytest.raises(CommandFailedError, match="did you mean orders"):
        find_topics(send, ["orders", "order"])
    assert requests[1:] == [["order", "orders"], None, ["order"]]


def test_patterns_match_no_internal_topic() -> None:
    with pytest.raises(CommandFailedError, match="no topic matches"):
        names("__*")
    assert names("__consumer_offsets") == ["__consumer_offsets"]


def test_topic_without_permission_is_an_error() -> None:
    with pytest.raises(CommandFailedError, match="secret: TOPIC_AUTHORIZATION_FAILED"):
        names("secret")


def test_near_name_is_suggested() -> None:
    assert nearest("ordres", ["orders", "x"]) == "; did you mean orders?"
    assert nearest("zzz", ["orders"]) == ""


def test_partition_without_a_leader_is_named() -> None:
    row = MetadataResponsePartition(partition_index=0, error_code=5)
    topic = MetadataResponseTopic(name="t", partitions=[row])

    with pytest.raises(CommandFailedError, match="partition t-0: it has no leader now"):
        check_leaders(topic, [0])
    with pytest.raises(CommandFailedError, match="there is no partition 1, they are 0 to 0"):
        check_leaders(topic, [1])
