"""Regular expressions in RE2's syntax, searched for slice by slice."""

import pytest

from trio_kafka.coordinators.groups.consumer.regex_search import Search, compiled
from trio_kafka.errors import ErrorCode, KafkaError


def test_an_expression_matches_whole_names() -> None:
    pattern = compiled("a.*|b")

    assert [name for name in ("a", "ab", "b", "ba", "bb") if pattern.fullmatch(name)] == [
        "a",
        "ab",
        "b",
    ]


def test_what_is_no_expression_of_re2_is_refused() -> None:
    with pytest.raises(
        KafkaError, match="SubscribedTopicRegex `\\(\\?=a\\)` is not a valid"
    ) as error:
        compiled("(?=a)")

    assert error.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(("expressions", "slices"), [(1, 3), (5, 11), (600, 1001)])
def test_a_slice_is_so_many_topics_times_expressions(expressions: int, slices: int) -> None:
    regexes = [f"t{number}" for number in range(expressions)]
    names = [f"t{number}" for number in range(1000)]
    found: dict[str, list[str]] = {regex: [] for regex in regexes}
    search = Search("g", iter(names), 1, 0, {one: compiled(one) for one in regexes}, found)

    count = 1
    while search.go_on():
        count += 1

    assert count == slices
    assert found == {regex: [regex] for regex in regexes}
