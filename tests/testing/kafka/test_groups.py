"""Groups are described as they are."""

import pytest

from tests.testing.kafka.kit import consumer
from trio_kafka.testing.kafka.in_loop import NotReachedError


def test_groups_are_described_and_waited_for(kafka):
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


def test_groups_are_listed_once_their_coordinators_are_loaded(kafka):
    rule = {"api": "ListGroups", "client_id": "trio-kafka-testing", "times": 2}
    with kafka.fault(error="COORDINATOR_LOAD_IN_PROGRESS", **rule) as fault:
        assert kafka.group("g").state == "Dead"

    assert fault.hits == 2
