"""Keys and values between JSON and bytes."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka_builtin.rest_gateway.formats import (
    LARGEST_JSON,
    UnreadableError,
    check_format,
    decode,
    decode_field,
    encode,
)

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(documents)
def test_any_json_document_survives_a_round_trip(document: object) -> None:
    assert decode("json", encode("json", document)) == document


@given(st.binary())
def test_any_bytes_survive_a_round_trip_as_base64(data: bytes) -> None:
    assert encode("binary", decode("binary", data)) == data


@pytest.mark.parametrize(
    ("format_", "data", "error"),
    [
        ("json", b"{", "not JSON"),
        ("json", b"\xff", "not JSON"),
        ("json", b"NaN", "NaN is not a number"),
        ("json", b"1e400", "out of range"),
        ("json", b'{"a":1,"a":2}', "the name 'a' twice"),
        ("json", rb'"\ud800"', "lone surrogate"),
        ("json", b'"' + b"x" * LARGEST_JSON + b'"', "at most 65536"),
        ("string", b"\xff", "not UTF-8"),
    ],
)
def test_bytes_invalid_in_a_format_are_returned_as_base64_with_a_reason(
    format_: str, data: bytes, error: str
) -> None:
    with pytest.raises(UnreadableError, match=error):
        decode(format_, data)

    field = decode_field("value", format_, data)

    assert field.keys() == {"value_base64", "value_error"}
    assert base64.b64decode(field["value_base64"]) == data
    assert error in field["value_error"]


@pytest.mark.parametrize("value", [[], {}, None, 1, "avro", "x" * 1000])
def test_an_unknown_format_is_refused_in_a_short_message(value: object) -> None:
    with pytest.raises(KafkaError, match="want json, string, binary") as refused:
        check_format(value)

    assert len(str(refused.value)) < 120
