"""Values of records by a walk, beside the plain decoder: the same values and the same errors."""

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trio_kafka.errors import KafkaError
from trio_kafka.records import value_walk
from trio_kafka.records.batch import (
    BatchBody,
    BatchHeader,
    Record,
    close_batch,
    decode_records,
    plain_records,
)
from trio_kafka.records.leaf import ScanState
from trio_kafka.records.many import add_many
from trio_kafka.records.value_walk import decode_values, walk_values

PART = st.none() | st.binary(max_size=200) | st.integers(0, 20_000).map(bytes)
RECORDS = st.builds(
    Record,
    st.just(-1),
    st.sampled_from([0, 1, 70, 9000, 1 << 20, 1 << 40, (1 << 63) - 1]),
    PART,
    PART,
    st.lists(st.tuples(st.text(max_size=3), PART), max_size=3),
)


def encoded(body: BatchBody) -> tuple[bytes, BatchHeader]:
    data, header = close_batch(body)
    return plain_records(bytes(data), 0, header), header


def batch(records) -> tuple[bytes, BatchHeader]:
    body = BatchBody()
    body.add_all(records)
    return encoded(body)


def outcome(read):
    """Values up to the end, and the error there."""
    values = []
    try:
        values.extend(read())
    except KafkaError as error:
        return values, str(error)
    return values, None


def walked(data, header, start=0):
    return outcome(lambda: (v for many in decode_values(data, header, start=start) for v in many))


def decoded(data, header, start=0):
    records = decode_records(data, header)
    return outcome(lambda: (record.value for record in records if record.offset >= start))


@given(st.lists(RECORDS, min_size=1, max_size=10), st.integers(0, 10))
def test_values_are_those_of_the_records_from_an_offset_on(records, start):
    data, header = batch(records)

    assert walked(data, header, start) == decoded(data, header, start)


@given(st.lists(RECORDS, min_size=1, max_size=4), st.data())
def test_damaged_records_give_the_values_before_them_and_the_error_of_the_decoder(records, chance):
    data, header = batch(records)
    damaged = bytearray(data)
    for _ in range(chance.draw(st.integers(1, 3))):
        damaged[chance.draw(st.integers(0, min(len(data), 60) - 1))] = chance.draw(
            st.sampled_from([0, 1, 2, 3, 127, 128, 255])
        )
    cut = bytes(damaged[: chance.draw(st.integers(len(data) - 3, len(data)))])

    assert walked(cut, header) == decoded(cut, header)


@given(st.integers(-2, 300), st.integers(-2, 300))
@example(0, 0)
def test_counts_and_offsets_that_lie_are_the_decoder_s_errors(count, last):
    data, header = batch([Record(-1, 5, None, b"%d" % n) for n in range(100)])
    lying = attrs.evolve(header, count=count, last_offset_delta=last)

    assert walked(data, lying) == decoded(data, lying)


@pytest.mark.parametrize("size", [9, 10, 11, 12])
def test_time_of_too_many_bytes_is_the_decoder_s_error(size: int) -> None:
    _, header = batch([Record(-1, 5, None, b"v")])
    body = b"\0" + b"\x80" * (size - 1) + b"\0" + b"\0\1\2v\0"
    data = bytes([2 * len(body)]) + body

    assert walked(data, header) == decoded(data, header)
    assert (walked(data, header)[1] is None) == (size <= 10)


def test_batch_of_many_records_is_walked_without_the_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    body = BatchBody()
    values = [b"%d" % number * (number % 40) for number in range(20_000)]
    add_many(body, values, [b"k" * (number % 90) for number in range(20_000)], 5)
    data, header = encoded(body)
    monkeypatch.setattr(value_walk, "scan_records", None)

    parts = list(decode_values(data, header))

    assert [value for part in parts for value in part] == values
    assert max(map(len, parts)) <= 1024


def test_records_with_a_few_headers_are_no_doubt() -> None:
    data, header = batch([Record(-1, 5, None, b"v", [("a", b"1"), ("b", None)])] * 3)

    values, state, is_sure = walk_values(data, header, ScanState(), 10)

    assert (values, state, is_sure) == ([b"v"] * 3, ScanState(len(data), 3, 2), True)
