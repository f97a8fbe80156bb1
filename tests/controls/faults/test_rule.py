"""Rules are checked when they are made."""

from math import inf
from typing import Any

import pytest

from trio_kafka.controls.faults import FaultRule, RuleError
from trio_kafka.errors import ErrorCode

ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"error": ERROR}, "error"),
        ({"error": ErrorCode.UNKNOWN_SERVER_ERROR, "delay_s": 1}, "error"),
        ({"respond": ()}, "respond"),
        ({"drop": True}, "drop"),
        ({"disconnect": "after"}, "disconnect"),
        ({"hold": True}, "hold"),
        ({"throttle_s": 0.5}, "throttle_s"),
        ({"corrupt": "records"}, "corrupt"),
        ({"observe": True}, "observe"),
        ({"delay_s": (1, 2)}, "delay_s"),
    ],
)
def test_verdict_of_a_rule_is_its_only_effect_field(fields: dict[str, Any], verdict: str) -> None:
    assert FaultRule(**fields).verdict == verdict


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "the rule has no effect: want one of error, respond, drop"),
        ({"topic": "t", "delay_s": 0}, "the rule has no effect"),
        ({"error": ERROR, "drop": True}, "verdicts: error, drop, want one of them"),
        ({"hold": True, "observe": True}, "verdicts: hold, observe"),
        ({"error": "NOT_LEADER"}, "'NOT_LEADER' is not the name .* did you mean NOT_LEADER_OR_F"),
        ({"error": 9999}, "9999 is not the number"),
        ({"error": ErrorCode.NONE}, "error: 'NONE', want an error"),
        ({"disconnect": "soon"}, "disconnect: 'soon', want before or after"),
        ({"corrupt": "all"}, "corrupt: 'all', want request or records or response"),
        ({"error": ERROR, "after": -1}, "after: -1, want at least 0"),
        ({"error": ERROR, "every": 0}, "every: 0, want at least 1"),
        ({"error": ERROR, "times": 0}, "times: 0, want at least 1"),
        ({"error": ERROR, "partition": -1}, "partition: -1"),
        ({"error": ERROR, "probability": 1.5}, "probability: 1.5, want 0 to 1"),
        ({"delay_s": (2, 1)}, r"delay_s: \(2, 1\), want 0 to 3600 seconds"),
        ({"delay_s": 4000}, "delay_s: 4000"),
        ({"throttle_s": 4000}, "throttle_s: 4000"),
        ({"error": ERROR, "window_s": (2, 2)}, "window_s: .* want a begin before an end"),
    ],
)
def test_an_invalid_rule_is_rejected(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(RuleError, match=why):
        FaultRule(**fields)


def test_rule_with_a_topic_partition_or_group_condition_names_parts() -> None:
    assert FaultRule(error=ERROR, topic="t").names_parts
    assert FaultRule(error=ERROR, partition=0).names_parts
    assert FaultRule(error=ERROR, group="g").names_parts
    assert FaultRule(error=ERROR, transactional_id="x").names_parts
    assert not FaultRule(error=ERROR, client_id="c", window_s=(1, inf)).names_parts


def test_rule_accepts_an_error_as_name_or_number() -> None:
    assert FaultRule(error="NOT_LEADER_OR_FOLLOWER").error is ERROR
    assert FaultRule(error=6).error is ERROR
