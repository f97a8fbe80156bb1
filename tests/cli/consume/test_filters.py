"""Filters of records."""

import pytest

from trio_kafka.cli import CommandFailedError
from trio_kafka.cli.consume.filters import record_filter
from trio_kafka.clients.consumer.values import ConsumerRecord

RECORD = ConsumerRecord("t", 0, 0, 0, b"k-1", b"\xff tea \x00", (("a", b"one"), ("b", None)))
NULLS = ConsumerRecord("t", 0, 0, 0, None, None)


def passes(record=RECORD, *, key=None, value=None, headers=()):
    check = record_filter(key, value, headers)
    assert check is not None
    return check(record)


def test_expressions_match_anywhere_in_keys_and_values_of_any_bytes():
    assert passes(key="k-[0-9]")
    assert passes(value="tea")
    assert not passes(value="^tea")
    assert not passes(key="k", value="rice")
    assert not passes(NULLS, key="")
    assert not passes(NULLS, value="")


def test_header_is_matched_by_name_and_by_value():
    assert passes(headers=["b"])
    assert passes(headers=["a=^one$"])
    assert not passes(headers=["a=two"])
    assert not passes(headers=["b=.*"])
    assert not passes(headers=["a", "c"])


def test_without_filters_nothing_is_checked():
    assert record_filter(None, None, []) is None


def test_wrong_expression_names_its_option():
    with pytest.raises(CommandFailedError, match=r"--value \(: not an expression of RE2: missing"):
        record_filter(None, "(", [])
