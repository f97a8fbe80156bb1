"""Static members with librdkafka: one that restarts has what it had, the others go on."""

from collections.abc import Callable
from time import monotonic
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tests.e2e.clients import new_topic, settings
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

LIMIT_S = 60


class Members:
    """Static members of one group, by instance, which are polled together."""

    def __init__(self, broker: BrokerProcess, topic: str) -> None:
        self._broker, self._topic = broker, topic
        self.group = f"static-{uuid4().hex[:12]}"
        self.by_instance: dict[str, Consumer] = {}
        self.revoked: list[str] = []  # who was asked to give up what it has

    def add(self, instance: str) -> Consumer:
        """It takes the place of one that is there already, which is told nothing."""
        member = Consumer(
            settings(
                self._broker,
                group_id=self.group,
                group_instance_id=instance,
                session_timeout_ms=20_000,
                heartbeat_interval_ms=500,
                auto_offset_reset="earliest",
            )
        )
        member.subscribe([self._topic], on_revoke=lambda *_: self.revoked.append(instance))
        self.by_instance[instance] = member
        return member

    def held(self) -> dict[str, list[int]]:
        return {
            name: sorted(partition.partition for partition in member.assignment())
            for name, member in self.by_instance.items()
        }

    def poll_until(self, reached: Callable[[], bool]) -> None:
        end = monotonic() + LIMIT_S
        while not reached():
            assert monotonic() < end, self.held()
            for member in self.by_instance.values():
                message = member.poll(0.05)
                assert message is None or message.error() is None, message.error()

    def ids(self) -> dict[str, str]:
        """Member ids, by instance, as an administrator sees them."""
        admin = AdminClient(settings(self._broker))  # kept: what it was asked ends with it
        result = admin.describe_consumer_groups([self.group])[self.group].result(LIMIT_S)
        return {member.group_instance_id: member.member_id for member in result.members}


def test_restarted_static_member_keeps_its_partitions_without_a_rebalance(
    shared_broker: BrokerProcess,
) -> None:
    members = Members(shared_broker, new_topic(shared_broker, 4))
    for instance in ("a", "b"):
        members.add(instance)
    members.poll_until(
        lambda: [len(partitions) for partitions in members.held().values()] == [2, 2]
    )
    before, ids = members.held(), members.ids()
    members.revoked.clear()

    members.by_instance.pop("b").close()  # a static member does not leave when it is closed
    members.add("b")
    members.poll_until(lambda: len(members.held()["b"]) == 2)

    assert members.held() == before
    assert "a" not in members.revoked
    assert members.ids()["a"] == ids["a"]
    assert members.ids()["b"] != ids["b"]
    for member in members.by_instance.values():
        member.close()


def test_one_of_two_members_of_the_same_instance_is_fenced(shared_broker: BrokerProcess) -> None:
    members = Members(shared_broker, new_topic(shared_broker, 2))
    first = members.add("a")
    members.poll_until(lambda: len(members.held()["a"]) == 2)
    second = members.add("a")
    members.poll_until(lambda: len(members.held()["a"]) == 2)

    end = monotonic() + LIMIT_S
    fenced = None
    while fenced is None and monotonic() < end:
        try:
            message = first.poll(0.1)
            fenced = None if message is None else message.error()
        except KafkaException as error:
            fenced = error.args[0]

    assert fenced is not None
    assert fenced.code() in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL)
    assert second.assignment()
    first.close()
    second.close()
