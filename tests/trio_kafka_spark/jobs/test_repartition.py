"""Keys keep together and in order, where Kafka's partitioner puts them."""

import pyarrow as pa
import pytest

from tests.trio_kafka_spark.jobs.kit import record, records
from trio_kafka_spark.jobs.repartition import partitions_of_keys, repartition


def test_partitions_of_keys_equal_the_choice_of_the_default_partitioner_of_kafka():
    # From KafkaProducer's own test of the hash: 21 is -973932308, "a little bit long string" ...
    keys = pa.array([b"21", None, b"foobar", b""], pa.binary())

    assert partitions_of_keys(keys, 1000).to_pylist() == [
        (-973932308 & 0x7FFFFFFF) % 1000,
        None,
        (-790332482 & 0x7FFFFFFF) % 1000,
        (275646681 & 0x7FFFFFFF) % 1000,
    ]


@pytest.mark.spark
def test_repartitioned_records_of_a_key_keep_one_partition_and_their_order(spark):
    entries = [
        record(n, b"k%d" % (n % 10 + 10 * (n % 2)), b"%d" % n, partition=n % 2) for n in range(200)
    ]

    result = repartition(records(spark, *entries).repartition(5), 5, topic="wide")

    parts = result.rdd.glom().collect()
    places: dict[bytes, set[tuple[int, int]]] = {}
    order: dict[bytes, list[int]] = {}
    for number, part in enumerate(parts):
        for row in part:
            places.setdefault(row["key"], set()).add((number, row["partition"]))
            order.setdefault(row["key"], []).append(int(row["value"]))
    assert all(len(place) == 1 for place in places.values())
    assert all(values == sorted(values) for values in order.values())
    assert sum(map(len, order.values())) == 200
    assert {row["topic"] for part in parts for row in part} == {"wide"}
    keys = sorted(places)
    want = partitions_of_keys(pa.array(keys, pa.binary()), 5).to_pylist()
    assert [next(iter(places[key]))[1] for key in keys] == want


@pytest.mark.spark
def test_records_without_a_key_are_spread_evenly_over_partitions(spark):
    entries = [record(n, None) for n in range(9)]

    result = repartition(records(spark, *entries), 3)

    assert sorted(row["partition"] for row in result.collect()) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_repartitioning_to_zero_partitions_is_refused():
    with pytest.raises(ValueError, match="want at least 1"):
        repartition(None, 0)
