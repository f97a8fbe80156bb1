"""Partitions of keys, as Kafka's Java producer chooses them."""

import pytest

from trio_kafka.records.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"abc", 479470107),
    ],
)
def test_partitioner_hash_equals_that_of_kafkas_java_client(data: bytes, hashed: int) -> None:
    assert murmur2(data) == hashed % (1 << 32)


def test_equal_keys_map_to_one_partition_and_all_partitions_are_used() -> None:
    result = [partition_of(str(n).encode(), 8) for n in range(200)]
    assert result == [partition_of(str(n).encode(), 8) for n in range(200)]
    assert set(result) == set(range(8))
