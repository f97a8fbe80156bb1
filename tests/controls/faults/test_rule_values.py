"""Values of rules: names and numbers of errors, lists and tuples, whole numbers."""

from math import inf
from typing import Any

import pytest

from trio_kafka.controls.faults import FaultRule
from trio_kafka.controls.faults.rule_values import is_number, is_whole
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k00_produce import ProduceRequest


def test_rule_accepts_an_error_as_name_or_number() -> None:
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER

    assert FaultRule(error="NOT_LEADER_OR_FOLLOWER").error is error
    assert FaultRule(error=6).error is error


@pytest.mark.parametrize(
    ("name", "value", "stored"),
    [
        ("api", [ProduceRequest, "Fetch", 3], (ProduceRequest, "Fetch", 3)),
        ("api", "Fetch", "Fetch"),
        ("version", [0, 4], (0, 4)),
        ("version", 4, 4),
        ("window_s", [1], (1, inf)),
        ("window_s", (1, 2.5), (1, 2.5)),
        ("delay_s", [0.1, 0.2], (0.1, 0.2)),
        ("delay_s", 0.1, 0.1),
    ],
)
def test_a_rule_keeps_lists_of_apis_and_ranges_as_tuples(
    name: str, value: Any, stored: object
) -> None:
    rule = FaultRule(**({"observe": True} | {name: value}))

    assert getattr(rule, name) == stored


def test_a_bool_is_no_number() -> None:
    assert [is_whole(value) for value in (1, 1.0, True, None)] == [True, False, False, False]
    assert [is_number(value) for value in (1, 1.5, True, "1")] == [True, True, False, False]
