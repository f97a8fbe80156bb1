"""Batches that the broker writes itself: the same bytes as of any other, and the same header."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.records.batch import Record, check_crc, encode_batch, read_header, read_records
from trio_kafka.records.uniform import encode_uniform

PAIRS = st.tuples(st.binary(max_size=1100), st.none() | st.binary(max_size=1100))


@given(st.lists(PAIRS, min_size=1, max_size=5), st.integers(0, 1 << 42), st.sampled_from((-1, 0)))
def test_a_batch_is_that_of_the_general_encoder_and_has_its_header(
    pairs: list[tuple[bytes, bytes | None]], now_ms: int, sequence: int
) -> None:
    batch, header = encode_uniform(pairs, now_ms, base_sequence=sequence)

    records = [Record(timestamp=now_ms, key=key, value=value) for key, value in pairs]
    assert batch == encode_batch(records, base_sequence=sequence)
    assert header == read_header(batch)
    check_crc(batch, 0, header)
    assert not batch.readonly


@given(
    st.lists(st.tuples(PAIRS, st.integers(-200, 20_000)), min_size=1, max_size=5),
    st.integers(200, 1 << 42),
)
def test_each_record_may_have_a_time_of_its_own(
    found: list[tuple[tuple[bytes, bytes | None], int]], now_ms: int
) -> None:
    """Also one before that of the first: clocks go back."""
    pairs = [pair for pair, _ in found]
    deltas = [0, *(delta for _, delta in found[1:])]
    batch, header = encode_uniform(pairs, now_ms, base_sequence=0, deltas=deltas)

    records = [
        Record(timestamp=now_ms + delta, key=key, value=value)
        for (key, value), delta in zip(pairs, deltas, strict=True)
    ]
    assert batch == encode_batch(records, base_sequence=0)
    assert header == read_header(batch)
    check_crc(batch, 0, header)


def test_more_records_than_have_short_offsets_are_in_their_order() -> None:
    batch, header = encode_uniform([(b"%d" % number, None) for number in range(1500)], 7)

    records = list(read_records(batch, 0, header))
    assert [int(record.key or b"") for record in records] == list(range(1500))
    assert [record.offset for record in records] == list(range(1500))


def test_a_batch_has_records() -> None:
    with pytest.raises(ValueError, match="without records"):
        encode_uniform([], 7)
