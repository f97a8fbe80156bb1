"""Groups of KIP-848 with librdkafka: patterns, members that stay where they are, and settings."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tests.e2e.clients import end_offset, produce, settings
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

Held = frozenset[tuple[str, int]]
_LIMIT_S = 60
_POLL_S = 0.05
HEARTBEAT_MS = 100  # group.consumer.min.heartbeat.interval.ms of the shared broker


class Group:
    """Topics of one prefix, and members by name, polled together; `read` is what all saw."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.prefix = f"g-{uuid4().hex[:12]}"
        self.read: list[bytes | None] = []
        self._broker = broker
        self._members: dict[str, Consumer] = {}

    def create(self, name: str, partitions: int) -> str:
        """A topic that matches the pattern of the members."""
        topic = f"{self.prefix}-{name}"
        admin = AdminClient(settings(self._broker))
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(_LIMIT_S)
        for partition in range(partitions):
            end_offset(self._broker, topic, partition)
        return topic

    def write(self, topic: str, values: list[bytes]) -> None:
        produce(Producer(settings(self._broker)), topic, values)

    def add(self, name: str, **more: object) -> None:
        """A member that wants every topic of the prefix."""
        member = Consumer(
            settings(
                self._broker,
                group_id=self.prefix,
                group_protocol="consumer",
                auto_offset_reset="earliest",
                **more,
            )
        )
        member.subscribe([f"^{self.prefix}-.*"])
        self._members[name] = member

    def leave(self, name: str) -> None:
        self._members.pop(name).close()

    def held(self, name: str) -> Held:
        return frozenset(
            (partition.topic, partition.partition) for partition in self._members[name].assignment()
        )

    def sizes(self) -> list[int]:
        return sorted(len(self.held(name)) for name in self._members)

    def poll_until(self, reached: Callable[[], bool], event: str) -> None:
        end = time.monotonic() + _LIMIT_S
        while not reached():
            assert time.monotonic() < end, f"never: {event}; members have {self.sizes()}"
            for member in self._members.values():
                message = member.poll(_POLL_S)
                if message is not None:
                    assert message.error() is None
                    self.read.append(message.value())

    def wait_for(self, *sizes: int) -> None:
        self.poll_until(lambda: self.sizes() == sorted(sizes), f"assignments of {sizes}")

    def close(self) -> None:
        for name in list(self._members):
            self.leave(name)


@pytest.fixture
def group(shared_broker: BrokerProcess) -> Iterator[Group]:
    with closing(Group(shared_broker)) as consumer_group:
        yield consumer_group


@contextmanager
def closing(group: Group) -> Iterator[Group]:
    try:
        yield group
    finally:
        group.close()


@pytest.mark.long  # tests/clients/test_expressions.py has the same client, under churn
def test_pattern_subscription_reads_topics_created_later(group: Group) -> None:
    early = group.create("early", 2)
    group.write(early, [b"1", b"2"])
    group.add("one")
    group.poll_until(lambda: len(group.read) == 2, "the early topic is read")

    late = group.create("late", 3)
    group.write(late, [b"3"])
    group.poll_until(lambda: len(group.read) == 3, "the late topic is read")

    assert group.read == [b"1", b"2", b"3"]
    assert len(group.held("one")) == 5


def test_join_and_leave_of_a_member_move_only_the_necessary_partitions(group: Group) -> None:
    group.create("a", 12)
    group.add("one")
    group.wait_for(12)
    group.add("two")
    group.wait_for(6, 6)
    first, second = group.held("one"), group.held("two")

    group.add("three")
    group.wait_for(4, 4, 4)

    assert group.held("one") < first
    assert group.held("two") < second
    assert group.held("three") == (first | second) - group.held("one") - group.held("two")
    kept, other = group.held("one"), group.held("two")
    group.leave("three")
    group.wait_for(6, 6)
    assert group.held("one") > kept
    assert group.held("two") > other


def test_static_member_that_rejoins_gets_its_former_partitions(group: Group) -> None:
    group.create("a", 4)
    group.add("one", group_instance_id="one")
    group.add("two", group_instance_id="two")
    group.wait_for(2, 2)
    mine = group.held("two")

    group.leave("two")
    group.add("two", group_instance_id="two")
    group.wait_for(2, 2)

    assert group.held("two") == mine


def test_range_assignor_is_used_when_members_request_range(group: Group) -> None:
    for name in ("a", "b"):
        group.create(name, 3)
    group.add("one", group_remote_assignor="range")
    group.add("two", group_remote_assignor="range")
    # Two of three partitions of both topics go to one member; uniform gives three to each.
    group.wait_for(4, 2)


def test_heartbeat_interval_can_be_set_per_group(
    group: Group, shared_broker: BrokerProcess
) -> None:
    group.create("a", 1)
    admin = AdminClient(settings(shared_broker))
    resource = ConfigResource(ResourceType.GROUP, group.prefix)
    expected = "consumer.heartbeat.interval.ms"

    def alter(value: int) -> None:
        change = ConfigEntry(expected, str(value), incremental_operation=AlterConfigOpType.SET)
        config_resource = ConfigResource(
            ResourceType.GROUP, group.prefix, incremental_configs=[change]
        )
        admin.incremental_alter_configs([config_resource])[config_resource].result(_LIMIT_S)

    alter(HEARTBEAT_MS + 200)
    group.add("one")
    group.wait_for(1)

    described = admin.describe_configs([resource])[resource].result(_LIMIT_S)
    assert described[expected].value == str(HEARTBEAT_MS + 200)
    with pytest.raises(Exception, match="INVALID_CONFIG"):
        alter(HEARTBEAT_MS - 1)
