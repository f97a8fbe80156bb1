"""Rules: read, refused with the reason, and applied to documents."""

import json
from typing import Any

import pytest

from trio_kafka_builtin.mask.rules import hashes, masking_of, parse_rules


def masked(rules: str, document: Any, topic: str = "t", salt: str = "s") -> Any:
    masking = masking_of(parse_rules(rules), topic, salt)
    assert masking is not None
    masking.apply(document)
    return document


def test_fields_are_redacted_hashed_and_shortened() -> None:
    result = masked(
        "t: a=redact b.c=last:4 d=hash", {"a": 1, "b": {"c": "12345678"}, "d": "x", "e": "y"}
    )

    assert result["a"] == "***"
    assert result["b"] == {"c": "****5678"}
    assert len(result["d"]) == 64
    assert result["e"] == "y"


def test_equal_values_have_equal_hashes_with_one_salt_only() -> None:
    digest = masked("t: a=hash", {"a": {"x": 1, "y": 2}})["a"]

    assert digest == masked("t: a=hash", {"a": {"y": 2, "x": 1}})["a"]
    assert digest != masked("t: a=hash", {"a": {"x": 1, "y": 2}}, salt="other")["a"]


def test_rules_apply_to_items_of_lists_and_a_star_matches_every_field() -> None:
    result = masked("t: a.b=redact c.*=redact", [{"a": [{"b": 1}, {"b": 2}]}, {"c": {"d": 3}}])

    assert result == [{"a": [{"b": "***"}, {"b": "***"}]}, {"c": {"d": "***"}}]


@pytest.mark.parametrize(
    ("value", "shown"), [("ab", "**"), ("abcd", "****"), (123456, "**3456"), ([1], "***"), ("", "")]
)
def test_the_last_rule_masks_short_values_completely(value: Any, shown: str) -> None:
    assert masked("t: a=last:4", {"a": value}) == {"a": shown}


def test_null_values_stay_null_and_missing_fields_are_not_created() -> None:
    assert masked("t: a=redact b.c=redact", {"a": None, "b": 7}) == {"a": None, "b": 7}


def test_rules_of_all_matching_topic_patterns_apply() -> None:
    rules = "cust-*: a=redact; cust-1: b=redact; other: c=redact"

    assert masked(rules, {"a": 1, "b": 1, "c": 1}, "cust-1") == {"a": "***", "b": "***", "c": 1}
    assert masking_of(parse_rules(rules), "else", "") is None


@pytest.mark.parametrize(
    "text", ["t", "t:", ": a=redact", "t: a", "t: a=b", "t: a..b=hash", "t: a=last:x"]
)
def test_malformed_mask_rules_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"want|is not redact"):
        parse_rules(text)


def test_values_without_field_names_are_skipped_unless_they_contain_json_escapes() -> None:
    masking = masking_of(parse_rules("t: a.ssn=redact"), "t", "")
    assert masking is not None

    assert not masking.may_concern(b'{"a":{"b":1}}')
    assert masking.may_concern(b'{"a":{"ssn":1}}')
    hidden = rb'{"a":{"\u0073sn":1}}'
    assert masking.may_concern(hidden)
    document = json.loads(hidden)
    assert masking.apply(document)
    assert document == {"a": {"ssn": "***"}}


def test_only_rules_with_hash_need_a_salt() -> None:
    assert hashes(parse_rules("t: a=redact b=hash"))
    assert not hashes(parse_rules("t: a=redact b=last:2"))
