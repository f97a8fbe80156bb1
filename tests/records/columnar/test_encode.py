from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.columnar.kit import CONTENTS, decoded, records
from tests.records.kit import encode_batch
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import HEADER_SIZE, ProducerFields, Record, read_header, read_records
from trio_kafka.records.columnar import decode, encode
from trio_kafka.records.columnar.encode import cut_batches
from trio_kafka.records.compression import Codec

PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def columns_of(rows: list[Record]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array([record.key for record in rows], pa.binary()),
            "value": pa.array([record.value for record in rows], pa.binary()),
            "timestamp": pa.array([record.timestamp for record in rows], pa.int64()),
            "headers": pa.array(
                [
                    [{"key": key, "value": value} for key, value in record.headers]
                    for record in rows
                ],
                PAIRS,
            ),
        }
    )


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    rows=st.lists(records(), min_size=1, max_size=30),
    begin=st.integers(0, 5),
    codec=st.sampled_from(Codec),
    batch_bytes=st.sampled_from([1, 60, 500, 100_000]),
    base_sequence=st.sampled_from([-1, 0, 2**31 - 3]),
)
def test_columnar_encode_writes_the_same_bytes_as_the_row_codec(
    rows: list[Record], begin: int, codec: Codec, batch_bytes: int, base_sequence: int
) -> None:
    batches = encode(
        columns_of(rows).slice(begin),
        codec=codec,
        timestamp_ms=0,
        batch_bytes=batch_bytes,
        producer=ProducerFields(4, 2, base_sequence),
    )

    done = begin
    for batch in batches:
        sequence = -1 if base_sequence < 0 else (base_sequence + done - begin) % 2**31
        assert batch.data == encode_batch(
            rows[done : done + batch.count],
            codec=codec,
            producer_id=4,
            producer_epoch=2,
            base_sequence=sequence,
        )
        done += batch.count
        size = len(encode_batch(rows[done - batch.count : done])) - HEADER_SIZE
        assert size <= batch_bytes or batch.count == 1
    assert done == max(begin, len(rows))


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(CONTENTS, CONTENTS, st.integers(-1, 1 << 50)), max_size=50))
def test_encoded_rows_decode_to_the_same_values_and_encode_to_the_same_bytes(
    rows: list[tuple[bytes | None, bytes | None, int]],
) -> None:
    first = encode(
        columns_of([Record(key=k, value=v, timestamp=t, headers=[("h", v)]) for k, v, t in rows]),
        timestamp_ms=0,
        batch_bytes=300,
    )
    log = b"".join(batch.data for batch in first)

    result = [(row["key"], row["value"], row["timestamp"]) for row in decoded(log)]
    again = [
        encode(part, timestamp_ms=0, batch_bytes=1 << 20)
        for batch in first
        for part in decode(batch.data, at=TopicPartition("t", 0))
    ]

    assert result == [(key, value, time * 1000) for key, value, time in rows]
    assert again == [[batch] for batch in first]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("names", [["value"], ["key", "value"], ["value", "headers"]])
def test_encode_accepts_a_table_without_some_columns(codec: Codec, names: list[str]) -> None:
    result = [
        Record(timestamp=9, key=b"k" if "key" in names else None, value=b"v" * n)
        for n in range(100)
    ]
    columns = columns_of(result).select(names)

    (batch,) = encode(columns, codec=codec, timestamp_ms=9, level=None)

    assert batch.data == encode_batch(result, codec=codec)
    assert batch.count == 100


def test_encode_uses_the_given_compression_level_and_refuses_an_unknown_level() -> None:
    columns = columns_of([Record(value=bytes(range(256)) * 9, timestamp=5)])

    (batch,) = encode(columns, codec=Codec.ZSTD, level=19, timestamp_ms=0)

    assert batch.data == encode_batch(
        [Record(value=bytes(range(256)) * 9, timestamp=5)], codec=Codec.ZSTD, level=19
    )
    with pytest.raises(ValueError, match="level 99"):
        encode(columns, codec=Codec.ZSTD, level=99, timestamp_ms=0)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("transactional", [False, True])
def test_each_batch_says_whether_it_is_part_of_a_transaction(
    codec: Codec, transactional: bool
) -> None:
    rows = pa.RecordBatch.from_pydict({"value": [b"x" * 50] * 10})

    batches = encode(
        rows,
        codec=codec,
        timestamp_ms=5,
        batch_bytes=200,
        producer=ProducerFields(7, 1, 0),
        transactional=transactional,
    )

    headers = [read_header(batch.data, 0) for batch in batches]
    assert len(headers) > 1
    assert {header.is_transactional for header in headers} == {transactional}
    assert {header.codec for header in headers} == {codec}


def test_encode_of_no_records_returns_no_batches() -> None:
    assert encode(columns_of([]), timestamp_ms=0) == []
    with pytest.raises(ValueError, match="no column 'value'"):
        encode(pa.RecordBatch.from_pydict({"key": pa.array([], pa.binary())}), timestamp_ms=0)


def test_record_larger_than_batch_size_gets_its_own_batch() -> None:
    result = [Record(value=b"a"), Record(value=bytes(9000)), Record(value=b"b"), Record(value=b"c")]

    batches = encode(columns_of(result), timestamp_ms=0, batch_bytes=1000)

    assert [batch.count for batch in batches] == [1, 1, 2]


def test_sequence_after_the_largest_32_bit_number_is_zero() -> None:
    batches = encode(
        columns_of([Record()] * 5),
        timestamp_ms=0,
        batch_bytes=1,
        producer=ProducerFields(1, 0, 2**31 - 2),
    )

    result = [read_header(batch.data).base_sequence for batch in batches]
    assert result == [2**31 - 2, 2**31 - 1, 0, 1, 2]


@pytest.mark.parametrize("later_ms", [0, 1 << 20, 1 << 50])
def test_encoded_batches_do_not_exceed_the_batch_size(later_ms: int) -> None:
    result = [Record(timestamp=n % 2 * later_ms, value=b"v" * (n % 7)) for n in range(2000)]

    for bound in (30, 50, 1000, 3000):
        batches = encode(columns_of(result), timestamp_ms=0, batch_bytes=bound)
        sizes = [len(batch.data) - HEADER_SIZE for batch in batches]
        assert max(sizes) <= bound
        if bound >= 1000:  # room for times and places, which are not known before the cut
            assert min(sizes[:-1]) > bound * 0.4


@pytest.mark.slow
def test_records_beyond_one_join_step_are_all_encoded() -> None:
    values = pa.array([bytes([n % 251]) * 1000 for n in range(10_000)], pa.binary())

    batches = encode(pa.RecordBatch.from_arrays([values], names=["value"]), timestamp_ms=0)

    result: list[Any] = []
    for batch in batches:
        assert len(batch.data) <= (16 << 10) + HEADER_SIZE
        result += (record.value for record in read_records(batch.data, 0, read_header(batch.data)))
    assert result == values.to_pylist()


def test_cut_batches_ends_each_batch_before_the_size_limit() -> None:
    ends = np.cumsum([5, 5, 5, 30, 1, 1])

    assert cut_batches(ends, 10) == [0, 2, 3, 4, 6]
    assert cut_batches(ends, 1) == [0, 1, 2, 3, 4, 5, 6]
    assert cut_batches(ends, 100) == [0, 6]
