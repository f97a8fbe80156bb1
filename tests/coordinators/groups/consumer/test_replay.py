"""Records of a log that was compacted, or written by others, make what can be made of them."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.classic import Member, stable_classic
from tests.coordinators.groups.consumer.kit import GROUP, Scene, topic_id
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.member import Member as One
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.protocol.stored.groups.consumer import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)

A = topic_id("a")
TOMBSTONES: list[CoordinatorRecord] = [
    *records.no_member(GROUP, "m"),
    *records.no_group(GROUP, ["m"], ["x"]),
]


@pytest.mark.parametrize("record", TOMBSTONES, ids=lambda record: type(record.key).__name__)
def test_tombstone_without_a_group_creates_no_group(record: CoordinatorRecord) -> None:
    scene = Scene()

    scene.driver.machine.replay(record)

    assert scene.driver.machine.by_id == {}


@pytest.mark.parametrize(
    "record",
    [
        records.group_epoch(GROUP, 5, 1),
        records.subscription(GROUP, One(member_id="m", topics=("a",))),
        records.target(GROUP, "m", {A: {0}}),
        records.target_epoch(GROUP, 5, 7),
        records.assignment(GROUP, One(member_id="m", epoch=5, assigned={A: {0: 5}})),
        records.expression(GROUP, "x", ["a"], 1, 1),
    ],
    ids=lambda record: type(record.key).__name__,
)
def test_every_record_type_creates_the_group_and_tombstones_remove_the_group(
    record: CoordinatorRecord,
) -> None:
    scene = Scene({"a": 1})

    scene.driver.machine.replay(record)
    assert scene.group.type == "consumer"
    scene.driver.machine.replay(CoordinatorRecord(record.key))
    for tombstone in TOMBSTONES:
        scene.driver.machine.replay(tombstone)

    assert scene.driver.machine.by_id == {}


def test_replayed_epoch_records_set_the_epochs_of_the_group() -> None:
    scene = Scene()
    for record in (records.group_epoch(GROUP, 5, -3), records.target_epoch(GROUP, 4, 77)):
        scene.driver.machine.replay(record)

    group = scene.group
    assert (group.epoch, group.metadata_hash) == (5, -3)
    assert (group.assignment_epoch, group.assigned_ms) == (4, 77)
    scene.driver.machine.replay(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(GROUP)))
    assert (group.assignment_epoch, group.assigned_ms) == (-1, 0)


def test_targets_without_partitions_have_no_topics() -> None:
    scene = Scene()
    scene.driver.machine.replay(records.target(GROUP, "m", {A: set()}))

    assert scene.group.targets == {"m": {}}


def test_consumer_group_record_does_not_change_a_group_of_another_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene({"a": 1})
    group = stable_classic(scene, Member(scene, ["a"]), assignments=[{"a": [0]}])

    scene.driver.machine.replay(records.group_epoch(GROUP, 5, 1))

    assert scene.driver.machine.group(GROUP) is group
    assert "another type" in caplog.text


def test_subscription_metadata_of_old_brokers_is_noted() -> None:
    scene = Scene()
    key = ConsumerGroupPartitionMetadataKey(GROUP)
    value: Any = object()

    scene.driver.machine.replay(CoordinatorRecord(key, value))
    assert scene.group.has_subscription_metadata
    scene.driver.machine.replay(CoordinatorRecord(key))
    assert not scene.group.has_subscription_metadata
