from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.produce_batches import sizes_of
from trio_kafka_spark.sink.partitioner import key_partitions
from trio_kafka_spark.sink.routing import Router, TopicPartitions, records_of

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def router(topic: str | None = None, count: int = 4, **options: Any) -> Router:
    return Router(
        partitions_of=lambda _: TopicPartitions(count, list(range(count))), topic=topic, **options
    )


def routed(router: Router, rows: pa.RecordBatch) -> dict[str, list[Any]]:
    return {str(where): part.column("value").to_pylist() for where, part in router.route(rows)}


def batch(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_the_partition_column_overrides_the_key() -> None:
    rows = batch(value=["a", "b", "c"], key=["k", "k", "k"], partition=pa.array([3, 1, 3], "int32"))

    assert routed(router("t"), rows) == {"t-1": [b"b"], "t-3": [b"a", b"c"]}


def test_a_row_with_a_null_partition_is_routed_by_its_key() -> None:
    keys = [f"k{number}" for number in range(50)]
    values = [str(number) for number in range(50)]
    rows = batch(value=values, key=keys, partition=pa.nulls(50, pa.int32()))

    result = routed(router("t"), rows)

    want = key_partitions(pa.array(keys), 4).tolist()
    assert {int(value): int(name[-1]) for name, some in result.items() for value in some} == dict(
        enumerate(want)
    )


def test_rows_with_partition_with_key_and_with_neither_are_routed_separately() -> None:
    rows = batch(
        value=["p", "k", "n"],
        key=[None, b"abc", None],
        partition=pa.array([0, None, None], "int32"),
    )
    (keyed,) = key_partitions(pa.array([b"abc"]), 4).tolist()

    result = routed(router("t"), rows)

    assert b"p" in result["t-0"]
    assert b"k" in result[f"t-{keyed}"]
    assert sorted(value for some in result.values() for value in some) == [b"k", b"n", b"p"]


def test_keys_do_not_affect_partitions_if_ignore_keys_is_set() -> None:
    rows = batch(value=["v"] * 100, key=["k"] * 100)

    assert len(routed(router("t", ignore_keys=True, sticky_bytes=50), rows)) == 4


def test_rows_keep_their_order_within_a_partition() -> None:
    values = [str(number) for number in range(1000)]
    rows = batch(value=values, key=[str(number % 13) for number in range(1000)])

    for some in routed(router("t"), rows).values():
        assert some == sorted(some, key=int)


def test_the_topic_column_selects_the_topic_only_without_the_topic_option() -> None:
    rows = batch(
        value=["1", "2", "3", "4"],
        topic=["b", "a", "b", "a"],
        partition=pa.array([0, 0, 1, 0], "int32"),
    )

    assert routed(router(), rows) == {"a-0": [b"2", b"4"], "b-0": [b"1"], "b-1": [b"3"]}
    assert sum(map(len, routed(router("c"), rows).values())) == 4


def test_a_null_topic_is_refused_with_the_condition_of_the_official_connector() -> None:
    with pytest.raises(SourceError) as caught:
        routed(router(), batch(value=["1", "2"], topic=["a", None]))

    assert str(caught.value) == (
        "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer contains a null"
        " topic. Use the `topic` option for setting a default topic."
    )


@pytest.mark.parametrize("wrong", [-1, 4, 99])
def test_a_partition_that_the_topic_does_not_have_is_refused(wrong: int) -> None:
    with pytest.raises(SourceError, match=rf"{wrong} is not in the range \[0...4\) of topic t"):
        routed(router("t"), batch(value=["1"], partition=pa.array([wrong], "int32")))


def test_a_batch_without_rows_gives_no_routes() -> None:
    assert routed(router("t"), batch(value=pa.array([], pa.string()))) == {}


def test_a_slice_of_a_batch_is_routed_with_the_right_rows() -> None:
    rows = batch(
        value=[str(number) for number in range(20)],
        key=[None if number % 3 else str(number) for number in range(20)],
        headers=pa.array([[("h", b"x" * number)] for number in range(20)], HEADERS),
        partition=pa.array([number % 4 for number in range(20)], "int32"),
    ).slice(7, 6)

    result = dict(router("t").route(rows))

    assert result[TopicPartition("t", 0)].to_pylist() == [
        {"key": None, "value": b"8", "headers": [{"key": "h", "value": b"x" * 8}]},
        {"key": b"12", "value": b"12", "headers": [{"key": "h", "value": b"x" * 12}]},
    ]


def test_records_have_binary_keys_and_values_and_only_kafka_columns() -> None:
    at = pa.array([1_000_000], pa.timestamp("us", "UTC"))
    rows = batch(value=["v"], key=pa.array(["k"], pa.large_string()), offset=[1], at=at)

    records = records_of(rows, "at")

    assert records.schema == pa.schema(
        [("key", pa.binary()), ("value", pa.binary()), ("timestamp", pa.timestamp("us", "UTC"))]
    )


def test_record_sizes_count_keys_values_and_headers() -> None:
    headers = pa.array([None, [("a", b"12345"), ("b", None)], [], [("long", b"x")]], HEADERS)
    records = batch(value=pa.array([b"x" * 10, None, b"y", b""]), key=[b"k"] * 4, headers=headers)

    sizes = sizes_of(records)
    plain = sizes_of(records.drop_columns(["headers"]))

    assert (plain - plain[1]).tolist() == [10, 0, 1, 0]
    assert (sizes - plain).tolist() == [0, 20 + 7, 0, 10 + 5]
    assert sizes_of(records.slice(1, 2)).tolist() == sizes[1:3].tolist()
    assert np.all(sizes_of(records.slice(0, 0)) == 0)
