"""Keys and values between JSON and bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka_builtin.rest_gateway.formats import LARGEST_JSON, decode, encode

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=10,
)


@given(documents)
def test_json_is_read_as_it_was_written(document: object) -> None:
    assert decode("json", encode("json", document)) == document


@given(st.binary())
def test_any_bytes_are_read_as_base64(data: bytes) -> None:
    assert encode("binary", decode("binary", data)) == data


@pytest.mark.parametrize(
    ("format_", "data"),
    [
        ("json", b"{"),
        ("json", b"\xff"),
        ("json", b'"' + b"x" * LARGEST_JSON + b'"'),
        ("string", b"\xff"),
    ],
)
def test_what_a_format_cannot_say_is_refused(format_: str, data: bytes) -> None:
    with pytest.raises(KafkaError, match="binary"):
        decode(format_, data)
