"""Regular expressions that clients may use, and those that would cost the broker too much."""

import pytest

from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled, shown
from trio_kafka.errors import ErrorCode, KafkaError


def test_an_invalid_expression_is_rejected_with_the_reason_of_re2() -> None:
    with pytest.raises(
        KafkaError, match="SubscribedTopicRegex `\\(\\?=a\\)` is not a valid"
    ) as error:
        compiled("(?=a)")

    assert error.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        (r"\pL" * 10_900, "32700 characters, expected at most 10000"),
        (r"\pL" * 5, "5 Unicode classes, expected at most 4"),
        (r"\PN" * 5, "5 Unicode classes, expected at most 4"),
        ("a?" * 501, "501 operators and groups, expected at most 500"),
        ("(" * 501 + ")" * 501, "501 operators and groups, expected at most 500"),
        ("a{2}" * 21, "21 counted repetitions, expected at most 20"),
        ("a" * 10_001, "10001 characters, expected at most 10000"),
        ("(((a{10}){10}){10}){10}", "invalid repetition size"),
        ("(.{1000}|[^a]{1000})", "pattern too large"),
    ],
)
def test_an_expression_that_would_take_long_to_compile_is_rejected(regex: str, reason: str) -> None:
    with pytest.raises(KafkaError, match=reason) as error:
        compiled(regex)

    assert error.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(error.value.message or "") < 500


@pytest.mark.parametrize(
    "regex",
    [
        ".*",
        "orders-.*",
        r"(dev|test|prod)\.[a-z]+\.v\d{1,3}",
        "(?i)payments(-dlq)?",
        "|".join(f"topic-number-{number}" for number in range(500)),
    ],
)
def test_typical_expressions_are_accepted(regex: str) -> None:
    assert compiled(regex).programsize < 11_000


def test_logs_and_answers_show_the_beginning_of_an_expression() -> None:
    assert shown("a" * 200) == "a" * 200
    assert shown("a" * 201) == "a" * 200 + "…"
