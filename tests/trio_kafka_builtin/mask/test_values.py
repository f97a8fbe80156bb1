"""One value: its fields are masked, and what cannot be parsed is an error."""

import json

import pytest

from trio_kafka_builtin.mask.rules import masking_of, parse_rules
from trio_kafka_builtin.mask.values import UnreadableError, masked

MASKING = masking_of(parse_rules("t: ssn=redact"), "t", "")


def test_only_values_with_the_field_are_changed() -> None:
    assert MASKING is not None
    other = b'{ "a" : 1.10 }'

    assert json.loads(masked(b'{"ssn":"1","n":"\xc3\xa9"}', MASKING, 100)) == {
        "ssn": "***",
        "n": "é",
    }
    assert masked(other, MASKING, 100) is other
    assert masked(b'{"ssn":1,"ssn":2}', MASKING, 100) == b'{"ssn":"***"}'


def test_a_field_in_a_duplicate_json_object_is_not_shown() -> None:
    masking = masking_of(parse_rules("t: person.ssn=redact"), "t", "")
    assert masking is not None

    twice = b'{"person":{"ssn":"1"},"person":{}}'

    assert masked(twice, masking, 100) == b'{"person":{}}'


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"x",
        b"\xff",
        b'{"ssn":',
        b"[" * 50_000,
        b'{"ssn":1,"x":1e999}',
        b'{"ssn":"' + b"x" * 60_000,
    ],
)
def test_a_value_that_is_invalid_json_or_too_large_is_unreadable(value: bytes) -> None:
    assert MASKING is not None
    with pytest.raises(UnreadableError):
        masked(value, MASKING, 60_000)
