"""Bytes as JSON, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.cli.records.encodings import BASE64, HEX, JSON, TEXT, from_json, to_json
from trio_kafka.strict_json import dump_json, parse_json


@given(st.none() | st.binary(max_size=40), st.sampled_from([TEXT, HEX, BASE64]))
def test_bytes_come_back_from_every_form(data, encoding):
    assert from_json(parse_json(dump_json(to_json(data, encoding)))) == data


def test_bytes_that_are_no_text_name_their_encoding():
    assert to_json(b"tea") == "tea"
    assert to_json(b"\xff") == {"base64": "/w=="}
    assert to_json(b"\xff", HEX) == {"hex": "ff"}
    assert to_json(b'{"a": [1]}', JSON) == {"json": {"a": [1]}}
    assert to_json(b"no json", JSON) == {"base64": "bm8ganNvbg=="}
    assert to_json(None, HEX) is None


def test_json_content_is_written_compactly():
    assert from_json({"json": {"a": [1, None]}}) == b'{"a":[1,null]}'


@pytest.mark.parametrize(
    "value",
    [1, True, [], {}, {"hex": 1}, {"hex": "0"}, {"hex": "0 0"}, {"base64": "!"}, {"a": "b"}],
)
def test_json_value_that_is_no_encoding_is_rejected(value):
    with pytest.raises(ValueError):
        from_json(value)
