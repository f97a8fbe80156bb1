"""Groups are described as they are."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import write
from tests.apis.test_k09_offset_fetch import commit
from tests.testing.kafka.kit import consumer
from tests.trio_kafka_metrics.kit import harness
from trio_kafka.controls.groups import describe_group
from trio_kafka.testing.kafka.waiting import NotReachedError


def test_group_description_has_members_offsets_and_lag(kafka):
    client = consumer(kafka)
    try:
        kafka.produce("orders", *[b"x"] * 6)
        client.consume(6, timeout=10)
        client.commit(asynchronous=False)
        kafka.produce("orders", b"y")
        group = kafka.wait_for_group("g", state="Stable", members=1)
        assert group.type == "classic"
        assert group.members[0].partitions == (("orders", 0), ("orders", 1), ("orders", 2))
        assert sum(group.offsets.values()) == 6
        assert sum(group.lag.values()) == 1
        assert kafka.groups() == [group]
        with pytest.raises(NotReachedError, match=r"members 7: not reached within 0\.01 s: Group"):
            kafka.wait_for_group("g", members=7, timeout_s=0.01)
    finally:
        client.close()
    kafka.wait_for_group("g", state="Empty", members=0)
    assert kafka.group("other").state == "Dead"


def test_a_consumer_group_of_the_new_protocol_is_described(kafka):
    client = consumer(kafka, "new", **{"group.protocol": "consumer"})
    try:
        kafka.produce("orders", b"x")
        client.consume(1, timeout=10)
        group = kafka.wait_for_group("new", state="Stable", members=1)
        assert group.type == "consumer"
        assert group.members[0].partitions == (("orders", 0), ("orders", 1), ("orders", 2))
    finally:
        client.close()


async def test_lag_is_zero_beyond_the_log_end_and_absent_for_committed_offset_minus_one(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 3)
        await plugin_harness.served.serve_groups("g")
        await write(plugin_harness.served, "t", b"a", b"b")
        for partition, offset in enumerate((0, -1, 9)):
            await commit(plugin_harness.served, "g", "t", partition, offset)

        group = await describe_group(plugin_harness, "g")

    assert group.offsets == {("t", 0): 0, ("t", 2): 9}
    assert group.lag == {("t", 0): 2, ("t", 2): 0}


def test_listing_groups_retries_while_coordinators_load(kafka):
    rule = {"api": "ListGroups", "client_id": "trio-kafka-testing", "times": 2}
    with kafka.fault(error="COORDINATOR_LOAD_IN_PROGRESS", **rule) as fault:
        assert kafka.group("g").state == "Dead"

    assert fault.hits == 2
