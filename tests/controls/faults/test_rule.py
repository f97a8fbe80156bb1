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
        ({"drop": True, "window_s": 1}, r"window_s: 1, want \[begin\] or \[begin, end\]"),
        ({"drop": True, "window_s": []}, r"window_s: \[\], want"),
        ({"drop": True, "window_s": [1, "2"]}, r"window_s: \[1, '2'\], want"),
        ({"delay_s": [0.1]}, r"delay_s: \[0.1\], want a number, or the least and the most"),
        ({"delay_s": [0.1, None]}, "delay_s: .* want a number"),
        ({"delay_s": "1"}, "delay_s: '1', want a number"),
        ({"drop": True, "version": [0, 1, 2]}, r"version: \[0, 1, 2\], want a version, or"),
        ({"drop": True, "version": [4, 0]}, r"version: \(4, 0\), want the first version before"),
        ({"drop": True, "version": "4"}, "version: '4', want a version"),
        ({"drop": True, "api": ["Fetch", 1.5]}, r"api: \['Fetch', 1.5\], want the name, key or"),
        ({"drop": True, "api": {"Fetch"}}, "api: {'Fetch'}, want"),
        ({"drop": True, "topic": ["a", "b"]}, r"topic: \['a', 'b'\], want a pattern"),
        ({"drop": True, "partition": "3"}, "partition: '3', want at least 0"),
        ({"drop": True, "after": None}, "after: None, want at least 0"),
        ({"drop": True, "times": True}, "times: True, want at least 1"),
        ({"drop": True, "probability": "0.5"}, "probability: '0.5', want 0 to 1"),
        ({"throttle_s": "2"}, "throttle_s: '2', want 0 to 3600 seconds"),
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
