"""The hash, held to values that Kafka computed; its lengths to each other by Kafka's own hash."""

import pytest

from tests.coordinators.groups.consumer.kafka import hashes
from trio_kafka.coordinators.groups.consumer.xxh3 import xxh3_64
from trio_kafka.scheduling.chunked_work import whole


def test_metadata_hash_of_a_group_equals_that_of_kafka() -> None:
    data = b"".join(
        topic["hash"].to_bytes(8, "little", signed=True)
        for topic in sorted(hashes()["topics"], key=lambda topic: topic["name"])
    )

    assert whole(xxh3_64(data)) == hashes()["group"] % 2**64


@pytest.mark.parametrize("size", hashes()["lengths"], ids=lambda row: str(row["size"]))
def test_hash_of_each_input_length_equals_that_of_kafka(size: dict[str, int]) -> None:
    data = bytes(number * 7 % 256 for number in range(size["size"]))

    assert whole(xxh3_64(data)) == size["hash"] % 2**64
