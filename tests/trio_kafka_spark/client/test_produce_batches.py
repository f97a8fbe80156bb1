from typing import Any

import pyarrow as pa
import pytest

from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import read_header, read_records
from trio_kafka.records.compression import Codec
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.produce_batches import Collected, Encoding, sizes_of

WHERE = TopicPartition("t", 0)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def encoding(**more: Any) -> Encoding:
    settings: dict[str, Any] = {
        "codec": Codec.NONE,
        "level": None,
        "batch_bytes": 500,
        "largest_request": 2000,
        "producer_id": 7,
        "producer_epoch": 1,
    }
    return Encoding(**{**settings, **more})


def records(first: int, stop: int, **more: Any) -> pa.RecordBatch:
    values = [str(number).encode() for number in range(first, stop)]
    return pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary()), **more})


def test_sequence_numbers_of_batches_are_contiguous_even_at_wraparound() -> None:
    first = (1 << 31) - 10
    batches = encoding().encoded(records(0, 200), first, 5)

    headers = [read_header(batch.data) for batch in batches]
    want = first
    for encoded_batch, header in zip(batches, headers, strict=True):
        assert (header.producer_id, header.producer_epoch) == (7, 1)
        assert header.base_sequence == want
        want = (want + encoded_batch.count) % (1 << 31)
    assert len(batches) > 2
    assert sum(batch.count for batch in batches) == 200


@pytest.mark.parametrize("codec", list(Codec))
def test_the_halves_of_a_split_batch_keep_records_timestamps_and_sequences(codec: Codec) -> None:
    encoder = encoding(codec=codec, batch_bytes=1 << 20)
    rows = pa.RecordBatch.from_pydict(
        {
            "key": pa.array([b"k", None, b"", b"k4", b"k5"]),
            "value": pa.array([b"1", b"", None, b"4", b"5"]),
            "headers": pa.array([[("h", b"x")], None, [], [("a", None)], None], HEADERS),
            "timestamp": pa.array([1000, 2000, 3000, 4000, None], pa.timestamp("us", "UTC")),
        }
    )
    (whole,) = encoder.encoded(rows, (1 << 31) - 1, 99)

    parts = encoder.halves(WHERE, whole.data, whole.count, sequence=(1 << 31) - 1)

    def record_rows(data: bytes) -> list[Any]:
        return [
            (record.key, record.value, list(record.headers), record.timestamp)
            for record in read_records(data, 0, read_header(data))
        ]

    assert [part.count for part in parts] == [2, 3]
    assert [read_header(part.data).base_sequence for part in parts] == [(1 << 31) - 1, 1]
    assert [row for part in parts for row in record_rows(part.data)] == record_rows(whole.data)
    assert record_rows(whole.data)[4][3] == 99


def test_a_record_larger_than_a_request_is_refused_with_its_size() -> None:
    encoder = encoding()
    value = pa.array([b"small", b"x" * 1918], pa.binary())
    encoder.check(WHERE, pa.RecordBatch.from_pydict({"value": value}))

    with pytest.raises(SourceError, match=r"a record for t-0 has 2001 bytes when serialized"):
        encoder.check(WHERE, pa.RecordBatch.from_pydict({"value": [b"x" * 1919]}))
    encoder.check(WHERE, records(0, 0))


def test_an_estimated_record_size_is_at_least_the_encoded_size() -> None:
    rows = pa.RecordBatch.from_pydict(
        {
            "key": [b"k" * 100],
            "value": [b"v" * 1000],
            "headers": pa.array([[("h" * 70, b"x" * 200), ("i", None)]], HEADERS),
        }
    )
    (batch,) = encoding(batch_bytes=1 << 20).encoded(rows, 0, 1 << 40)

    (size,) = sizes_of(rows).tolist()
    assert len(batch.data) - 61 <= size <= len(batch.data) - 61 + 40


def test_collected_records_of_the_same_columns_are_taken_together() -> None:
    collected = Collected()
    collected.add(records(0, 3))
    collected.add(records(3, 5))

    assert collected.fits(records(5, 6))
    assert not collected.fits(records(5, 6, key=[b"k"]))
    assert collected.size == sum(part.nbytes for part in collected.parts)
    assert collected.take().column("value").to_pylist() == [b"0", b"1", b"2", b"3", b"4"]
    assert (collected.parts, collected.size) == ([], 0)
    assert collected.fits(records(5, 6, key=[b"k"]))
