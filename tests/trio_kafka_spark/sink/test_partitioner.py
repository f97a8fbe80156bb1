import struct
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer
from hypothesis import given
from hypothesis import strategies as st

from tests.trio_kafka_spark.topics import create_topic
from trio_kafka.records.partitioner import murmur2 as plain_murmur2
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.sink.partitioner import Sticky, key_partitions, murmur2

# From Kafka's own UtilsTest.testMurmur2.
KAFKAS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def test_the_murmur2_hash_equals_that_of_the_java_client() -> None:
    result = murmur2(pa.array(list(KAFKAS), pa.binary()))

    assert result.astype(np.int32).tolist() == list(KAFKAS.values())


@given(st.lists(st.none() | st.binary(max_size=40), max_size=60), st.integers(0, 5))
def test_the_vectorised_hash_equals_the_plain_loop(keys: list[bytes | None], first: int) -> None:
    array = pa.array(keys, pa.binary())[first:]

    result = murmur2(array).tolist()

    for key, hashed in zip(keys[first:], result, strict=True):
        assert key is None or hashed == plain_murmur2(key)


def test_keys_of_all_lengths_have_the_same_hash_in_all_string_types() -> None:
    keys = [bytes([97 + n % 26]) * n for n in [*range(70), 5000, 100_001]]
    want = [plain_murmur2(key) for key in keys]

    for kind in (pa.binary(), pa.large_binary(), pa.string(), pa.large_string()):
        assert murmur2(pa.array(keys, pa.binary()).cast(kind)).tolist() == want


def test_keys_that_are_neither_binary_nor_string_are_refused() -> None:
    with pytest.raises(TypeError, match="keys of type int64: want binary or string"):
        murmur2(pa.array([1, 2]))


def test_arrays_without_keys_or_with_nulls_only_are_hashed() -> None:
    assert len(murmur2(pa.array([], pa.binary()))) == 0
    assert len(murmur2(pa.nulls(3, pa.binary()))) == 3


def test_partitions_of_keys_equal_the_choice_of_librdkafka(shared_broker: BrokerProcess) -> None:
    keys = [struct.pack(">q", number * 7919)[: number % 9] for number in range(500)]
    create_topic(shared_broker.bootstrap, "murmur", 7)
    chosen: dict[int, int] = {}
    producer = Producer(
        {"bootstrap.servers": shared_broker.bootstrap, "partitioner": "murmur2_random"}
    )
    for number, key in enumerate(keys):
        if not key:  # librdkafka chooses at random for an empty key, unlike Kafka's client
            continue
        producer.produce(
            "murmur",
            str(number).encode(),
            key,
            on_delivery=lambda error, message: chosen.update(
                {int(message.value()): message.partition()}
            ),
        )
    assert producer.flush(30) == 0

    ours = key_partitions(pa.array(keys, pa.binary()), 7).tolist()

    assert len(chosen) > 400
    assert chosen == {number: ours[number] for number in chosen}


def test_the_sticky_partition_changes_after_the_given_bytes() -> None:
    sticky = Sticky(100, turn=0)

    first = sticky.partitions(np.full(7, 30), [4, 5, 6])
    second = sticky.partitions(np.full(4, 30), [4, 5, 6])

    assert first.tolist() == [4, 4, 4, 4, 5, 5, 5]
    assert second.tolist() == [6, 6, 6, 4]


def test_keyless_records_are_spread_evenly_over_available_partitions() -> None:
    sticky = Sticky(1000)
    counts: Counter[int] = Counter()
    for _ in range(30):
        counts.update(sticky.partitions(np.full(1000, 100), [0, 2, 3]).tolist())

    assert set(counts) == {0, 2, 3}
    assert max(counts.values()) - min(counts.values()) <= 20


def test_sticky_partitioners_of_tasks_start_with_different_partitions() -> None:
    begun = {Sticky(100).partitions(np.full(1, 1), range(50)).tolist()[0] for _ in range(20)}

    assert len(begun) > 3


def test_the_sticky_partitioner_gives_no_partitions_for_no_records() -> None:
    assert Sticky(10).partitions(np.empty(0, np.int64), [0]).tolist() == []
