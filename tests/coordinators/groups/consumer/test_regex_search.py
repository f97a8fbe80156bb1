"""Matches of an expression with topic names, with what is known from an earlier search."""

from typing import Any

from trio_kafka.coordinators.groups.consumer.regex_search import Matches, matching
from trio_kafka.scheduling.chunked_work import whole


def topics(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, object())


def test_an_expression_matches_whole_names() -> None:
    matches = whole(matching("a.*|b", topics("a", "ab", "b", "ba", "bb"), None))

    assert matches.names == {"a", "ab", "b"}


def test_each_topic_name_is_matched_in_a_step_of_its_own() -> None:
    assert len(list(matching("a", topics("a", "b", "c"), None))) == 1 + 3


def test_names_of_an_earlier_search_are_not_matched_again() -> None:
    before = topics("a1", "a2", "gone")
    earlier_matches = Matches(before, frozenset({"a2", "gone"}))  # not what the expression matches

    matches = whole(matching("a.*", topics("a1", "a2", "a3", "b"), earlier_matches))

    assert matches.names == {"a2", "a3"}


def test_topics_that_have_not_changed_are_not_searched_again() -> None:
    names = topics("a")
    matches = whole(matching("a", names, None))

    steps = matching("a", names, matches)

    assert list(steps) == []
    assert whole(matching("a", names, matches)) is matches
