"""Values exchanged in records: everything else of them stays, and hostile bytes are refused."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record, encode_batch, read_header, read_records
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.records.recompress import repacked
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka_builtin.mask.rules import masking_of, parse_rules
from trio_kafka_builtin.mask.values import UnreadableError, masked, with_values

optional = st.none() | st.binary(max_size=200)
records = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 1 << 40),
        key=optional,
        value=optional,
        headers=st.lists(st.tuples(st.text(max_size=5), optional), max_size=3),
    ),
    min_size=1,
    max_size=80,
)
MASKING = masking_of(parse_rules("t: ssn=redact"), "t", "")


@given(records)
def test_only_values_change(given_records: list[Record]) -> None:
    batch = memoryview(encode_batch(given_records, 7))
    header = read_header(batch)

    made = whole(
        with_values(bytes(batch[HEADER_SIZE:]), header.count, lambda value: value[::-1] + b"!")
    )

    packed, changed = repacked(batch, header, header.codec, made)
    for before, after in zip(
        read_records(batch, 0, header), read_records(packed, 0, changed), strict=True
    ):
        assert after.value == (None if before.value is None else before.value[::-1] + b"!")
        before.value = after.value = None
        assert before == after


@given(records)
def test_nothing_that_changes_gives_the_same_object(given_records: list[Record]) -> None:
    batch = encode_batch(given_records)
    plain = batch[HEADER_SIZE:]

    assert whole(with_values(plain, len(given_records), lambda value: value)) is plain


@given(st.binary(max_size=80), st.integers(1, 5))
def test_hostile_bytes_are_refused_or_whole_records(data: bytes, count: int) -> None:
    with suppress(KafkaError):
        made = whole(with_values(data, count, lambda value: value))
        assert made is data


def test_long_batches_pause() -> None:
    plain = encode_batch([Record(timestamp=1, value=b"x") for _ in range(320)])[HEADER_SIZE:]

    assert sum(1 for _ in with_values(plain, 320, lambda value: value)) == 20


def test_a_value_is_masked_and_one_without_the_field_stays_as_it_is() -> None:
    assert MASKING is not None
    other = b'{ "a" : 1.10 }'

    assert json.loads(masked(b'{"ssn":"1","n":"\xc3\xa9"}', MASKING, 100)) == {
        "ssn": "***",
        "n": "é",
    }
    assert masked(other, MASKING, 100) is other
    assert masked(b'{"ssn":1,"ssn":2}', MASKING, 100) == b'{"ssn":"***"}'


def test_field_is_not_shown_by_an_object_of_the_same_name_before_it() -> None:
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
def test_what_cannot_be_parsed_or_is_too_large_is_unreadable(value: bytes) -> None:
    assert MASKING is not None
    with pytest.raises(UnreadableError):
        masked(value, MASKING, 60_000)
