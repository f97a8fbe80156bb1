"""Names that a topic may have."""

import pytest

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.names import check_topic_name, collision_key, is_internal


@pytest.mark.parametrize(
    "name", ["a", "A-1_b.c", "...", "x" * 249, "__consumer_offsets", "__cluster_metadata"]
)
def test_legal_topic_names_are_accepted(name: str) -> None:
    check_topic_name(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "an empty topic name"),
        (".", r"'\.': this name is reserved"),
        ("..", r"'\.\.': this name is reserved"),
        ("x" * 250, "250 characters: expected at most 249"),
        ("a b", "expected ASCII"),
        ("a/b", "expected ASCII"),
        ("ä", "expected ASCII"),
        ("a\n", "expected ASCII"),
        ("a\0", "expected ASCII"),
    ],
)
def test_illegal_topic_names_are_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(KafkaError, match=reason) as caught:
        check_topic_name(name)

    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_topic_names_that_differ_only_in_dots_and_underscores_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") == collision_key("a.b.c")
    assert collision_key("a.b") != collision_key("a-b")


def test_topics_written_only_by_the_cluster_are_internal() -> None:
    names = ["__consumer_offsets", "__transaction_state", "__share_group_state", "t", "__t"]

    assert [is_internal(name) for name in names] == [True, True, True, False, False]
