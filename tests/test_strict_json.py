"""JSON that every parser reads in the same way."""

import json
from contextlib import suppress
from math import inf, nan
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.strict_json import MOST_DEPTH, dump_json, parse_json

texts = st.text(st.characters(codec="utf-8"))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
documents = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=20,
)


def nested(depth: int, begin: str, end: str) -> str:
    return begin * depth + "1" + end * depth


@given(documents, st.booleans())
def test_valid_document_is_parsed_to_the_value_that_was_written(
    document: Any, ascii_only: bool
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only)

    assert parse_json(text) == document
    assert parse_json(text.encode()) == document


@given(anything)
def test_written_document_can_be_read_by_the_strict_parser(document: Any) -> None:
    parse_json(dump_json(document))
    parse_json(dump_json(document, compact=True))
    parse_json(dump_json(document, indent=2))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("NaN", "NaN is not a number"),
        ("[-Infinity]", "-Infinity is not a number"),
        ('{"a": Infinity}', "Infinity is not a number"),
        ("1e400", "1e400 is out of range"),
        ("-1.5E+0400", "out of range"),
        ("9" * 5000, "5000 digits is out of range"),
        ("9" * 309, "309 digits is out of range"),
        ('{"a": 1, "b": 2, "a": 3}', "the name 'a' twice"),
        ('[{"a": {"\\u0061": 1, "a": 2}}]', "the name 'a' twice"),
        (r'"\ud800"', r"lone surrogate, U\+D800"),
        (r'{"\uDFFF": 1}', r"lone surrogate, U\+DFFF"),
        (nested(MOST_DEPTH + 1, "[", "]"), "deeper than"),
        (nested(MOST_DEPTH + 1, '{"a": ', "}"), "deeper than"),
        (nested((MOST_DEPTH + 2) // 2, '[{"]\\"]": ', "}]"), "deeper than"),
        (nested(100_000, "[", "]"), "deeper than"),
        ("[" * 100_000, "deeper than|Expecting"),
        ("", "Expecting value"),
        ("{", "Expecting"),
        ("1 2", "Extra data"),
        ("'a'", "Expecting value"),
        ('"\t"', "control character"),
        ("\ufeff1", "Expecting value"),
    ],
)
def test_text_that_parsers_reject_or_read_differently_is_refused(text: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        parse_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e308", 1e308),
        ("9" * 308, int("9" * 308)),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', "\\ud800"),
        ('{"a": {"a": 1}}', {"a": {"a": 1}}),
    ],
)
def test_values_at_the_limits_of_the_parser_are_read(text: str, value: Any) -> None:
    assert parse_json(text) == value


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"[\\"": ', "}")])
def test_document_of_the_largest_depth_is_read(begin: str, end: str) -> None:
    text = nested(MOST_DEPTH, begin, end)

    assert json.dumps(parse_json(text)) == text


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        parse_json(b'"\xff"')


def test_values_unknown_to_json_are_written_as_strings() -> None:
    value = {"a": [nan, inf, -inf, 1.5], "b": "x\ud800y", "c": (nan,), "d": "😀"}

    assert json.loads(dump_json(value)) == {
        "a": ["NaN", "Infinity", "-Infinity", 1.5],
        "b": "x\ufffdy",
        "c": ["NaN"],
        "d": "😀",
    }


@given(documents)
def test_other_values_are_written_as_by_json_dumps(document: Any) -> None:
    assert dump_json(document) == json.dumps(document)
    assert dump_json(document, indent=2) == json.dumps(document, indent=2)


def test_repeated_name_among_many_costs_no_more_than_the_text() -> None:
    names = ",".join(f'"{number:05}": 0' for number in range(10_000))
    valid, repeated = f'{{{names}, "x": 0}}', f'{{{names}, "x": 0, "x": 0}}'

    def cost_s(text: str) -> float:
        began = process_time()
        with suppress(ValueError):
            parse_json(text)
        return process_time() - began

    # It was 500 times as much.
    assert min(cost_s(repeated) for _ in range(3)) < 50 * min(cost_s(valid) for _ in range(3))
