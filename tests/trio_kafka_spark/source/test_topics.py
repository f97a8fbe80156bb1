"""Which topics are read."""

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.source.topics import Topics, compiled

PARTITIONS = {"orders": [0, 1], "old-orders": [0], "logs.a": [0]}


def names(partitions: set[TopicPartition]) -> list[str]:
    return [str(tp) for tp in sorted(partitions)]


def test_subscribed_topics_give_all_their_partitions() -> None:
    assert names(Topics(names=("orders",)).chosen({"orders": [0, 1]})) == ["orders-0", "orders-1"]


def test_a_pattern_matches_anywhere_in_a_topic_name() -> None:
    assert names(Topics(pattern="order").chosen(PARTITIONS)) == [
        "old-orders-0",
        "orders-0",
        "orders-1",
    ]
    assert names(Topics(pattern="^order").chosen(PARTITIONS)) == ["orders-0", "orders-1"]
    assert Topics(pattern="order").named == ()


def test_assigned_partitions_that_do_not_exist_are_left_out() -> None:
    chosen = (TopicPartition("orders", 1), TopicPartition("orders", 7))
    topics = Topics(partitions=chosen)

    assert topics.named == ("orders",)
    assert names(topics.chosen({"orders": [0, 1]})) == ["orders-1"]


@pytest.mark.parametrize(
    ("pattern", "matches", "other"),
    [
        (r"^\p{Lower}+$", "orders", "Orders"),
        (r"^[\p{Alpha}-]+$", "old-orders", "orders1"),
        (r"\Qlogs.\E", "logs.a", "logsXa"),
        (r"^logs\.(?<last>.)\z", "logs.a", "logs.ab"),
        (r"a{2}+$", "aa", "ab"),
        (r"[&]&&", "&&&", "&"),
        (r"^[]a]$", "]", "b"),
    ],
)
def test_a_subscribe_pattern_has_the_syntax_of_java(pattern: str, matches: str, other: str) -> None:
    assert compiled(pattern).search(matches)
    assert not compiled(pattern).search(other)


@pytest.mark.parametrize("pattern", ["(", "[a-z&&[^b]]", "[a&&b]", r"\p{IsGreek}", "*", ""])
def test_an_invalid_subscribe_pattern_is_refused_with_its_option(pattern: str) -> None:
    with pytest.raises(OptionError, match="option subscribePattern: found"):
        compiled(pattern)
