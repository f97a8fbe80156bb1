"""Owners of keys: the partition of a key, its leader, its shard."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.coordinators.shards.owned_topic import java_hash, partition_of
from trio_kafka.errors import KafkaError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-consumer-group", 1513705513),
        ("consumers", -421004483),
        ("polygenelubricants", -0x80000000),
        ("\u00e9", 233),
        ("\U0001f600", 1772899),
    ],
)
def test_texts_have_the_hash_codes_of_java(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_partition_of_a_group_uses_the_absolute_hash_value() -> None:
    assert partition_of("group", 50) == 98629247 % 50
    assert partition_of("consumers", 50) == 421004483 % 50
    assert partition_of("polygenelubricants", 50) == 0


async def test_shard_of_a_group_is_chosen_by_the_hash_of_its_id(autojump_clock: MockClock) -> None:
    async with broker({"offsets.topic.num.partitions": "7"}) as served:
        groups = served.broker.groups
        assert groups.topic.partition_of("group") == partition_of("group", 7)
        with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
            groups.topic.leader_of("group")
        with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
            groups.coordinator.shard_of("group")

        await served.serve_groups("group")

        assert groups.topic.leader_of("group") == 1
        number = partition_of("group", 7)
        assert groups.coordinator.shard_of("group") is groups.runtime.shards[number]
