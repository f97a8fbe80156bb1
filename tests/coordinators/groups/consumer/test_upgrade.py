"""A classic group of consumers becomes a consumer group, while its members work."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.classic import (
    CLASSIC_SESSION_MS,
    Member,
    assignment,
    classic_group,
    stable_classic,
)
from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal
from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.transition import SESSION
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupMetadataKey

NOT_FOUND = ErrorCode.GROUP_ID_NOT_FOUND


def two(scene: Scene) -> tuple[Member, Member]:
    first, second = Member(scene, ["a"]), Member(scene, ["a"], instance="i")
    stable_classic(scene, first, second, assignments=[{"a": [0, 1]}, {"a": [2, 3]}])
    return first, second


def test_members_migrate_individually_and_no_partition_is_assigned_twice() -> None:
    scene = Scene({"a": 4})
    first, second = two(scene)
    generation = first.generation
    written = len(scene.driver.log)

    joined = scene.join("new", "a")

    group = scene.group
    assert isinstance(group, ConsumerGroup)
    keys = [record.key for record in scene.driver.records[written:]]
    assert keys[0] == GroupMetadataKey(GROUP)
    assert keys[3] == ConsumerGroupMetadataKey(GROUP)
    assert (joined.epoch, joined.assignment) == (generation + 1, {})
    assert group.classic == 2
    assert scene.has(first.member_id) == {"a": [0, 1]}
    assert scene.due[SESSION, GROUP, first.member_id] == CLASSIC_SESSION_MS
    for _ in range(3):
        first.live()
        second.live()
        scene.say_owned("new")
    assert group.state == "Stable"
    assert sorted([*first.has["a"], *second.has["a"], *scene.has("new")["a"]]) == [0, 1, 2, 3]

    first.leave()
    scene.join("new1", "a")
    back = scene.join("new2", "a", instance_id="i")
    assert back.epoch == group.epoch
    scene.settle("new", "new1", "new2", rounds=8)
    assert group.state == "Stable"
    assert group.classic == 0
    assert sum(len(scene.has(name)["a"]) for name in ("new", "new1", "new2")) == 4


def test_epochs_of_an_upgraded_group_continue_from_its_generation() -> None:
    scene = Scene({"a": 4})
    first, _ = two(scene)
    classic_group(scene).generation = 7

    joined = scene.join("new", "a")

    assert joined.epoch == scene.group.epoch == 8
    assert scene.group.by_id[first.member_id].epoch == 7
    (since,) = scene.group.by_id[first.member_id].assigned.values()
    assert since == {0: 7, 1: 7}, "an older generation commits nothing for them"


def test_waiting_classic_join_is_answered_with_rebalance_in_progress_on_upgrade() -> None:
    scene = Scene({"a": 4})
    first, _ = two(scene)
    third = Member(scene, ["a"])
    waiting = third.ask_join(asks_for_id=False)

    scene.join("new", "a")

    answer = third.answer(waiting)
    assert answer.error is ErrorCode.REBALANCE_IN_PROGRESS
    third.member_id = answer.member_id
    third.join()
    assert third.generation == scene.group.epoch
    assert all("classic" not in str(key[0]) for key in scene.driver.timers)
    first.live()


def test_empty_classic_group_is_replaced_by_a_consumer_group() -> None:
    scene = Scene({"a": 1})
    member = Member(scene, ["a"])
    stable_classic(scene, member, assignments=[{"a": [0]}])
    member.leave()
    assert classic_group(scene).is_empty

    assert scene.join("new", "a").epoch == 2

    assert scene.group.type == "consumer"
    assert scene.driver.reload().machine.group(GROUP).type == "consumer"


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_migration_policy_can_forbid_the_upgrade(policy: str) -> None:
    scene = Scene({"a": 4}, consumer_migration_policy=policy)
    two(scene)
    message = "Cannot upgrade classic group g to consumer group because online upgrade is disabled."

    with refusal(NOT_FOUND, message):
        scene.join("new", "a")

    assert classic_group(scene).state == "Stable"


def test_group_above_the_maximum_size_of_consumer_groups_stays_classic() -> None:
    scene = Scene({"a": 4}, consumer_max_size=1)
    two(scene)

    with refusal(NOT_FOUND):
        scene.join("new", "a")


def test_classic_group_refuses_kip_848_heartbeats_other_than_joins() -> None:
    scene = Scene({"a": 4})
    two(scene)

    with refusal(NOT_FOUND, "Group g is not a consumer group."):
        scene.beat("new", epoch=3)
    with refusal(NOT_FOUND, "Group g is not a consumer group."):
        scene.leave("new")


@pytest.mark.parametrize(
    "encoded_assignment",
    [
        assignment({"a": [0]}, b"of its own"),
        b"\x00",
        assignment({"a": [0]}),  # which the other one has too
    ],
)
def test_group_with_an_unconvertible_assignment_stays_classic(encoded_assignment: bytes) -> None:
    scene = Scene({"a": 4})
    first, second = two(scene)
    group = classic_group(scene)
    group.membership[second.member_id].assignment = encoded_assignment
    group.membership[first.member_id].assignment = assignment({"a": [0]})

    with refusal(NOT_FOUND):
        scene.join("new", "a")

    assert first.beat() is ErrorCode.NONE


def test_group_of_another_protocol_type_stays_classic() -> None:
    scene = Scene({"a": 4})
    worker = Member(scene, ["a"])
    fields: dict[str, Any] = {
        "asks_for_id": False,
        "protocol_type": "connect",
        "protocols": (GroupProtocol("default", b"x"),),
    }
    worker.ask_join(**fields)

    with refusal(NOT_FOUND):
        scene.join("new", "a")


def test_group_with_unreadable_subscriptions_stays_classic() -> None:
    scene = Scene({"a": 4})
    worker = Member(scene, ["a"])
    worker.ask_join(asks_for_id=False, protocols=(GroupProtocol("range", b"x"),))

    with refusal(NOT_FOUND):
        scene.join("new", "a")


def test_group_in_its_initial_rebalance_is_upgraded() -> None:
    scene = Scene({"a": 4})
    member = Member(scene, ["a"])
    waiting = member.ask_join(asks_for_id=False)

    scene.join("new", "a")

    answer = member.answer(waiting)
    assert answer.error is ErrorCode.REBALANCE_IN_PROGRESS
    member.member_id = answer.member_id
    member.join()
    member.sync()
    for _ in range(3):
        member.live()
        scene.say_owned("new")
    assert sorted([*member.has["a"], *scene.has("new")["a"]]) == [0, 1, 2, 3]


def test_group_stays_classic_and_stable_when_the_upgrade_records_are_refused() -> None:
    scene = Scene({"a": 4})
    first, second = two(scene)
    scene.driver.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with refusal(ErrorCode.NOT_ENOUGH_REPLICAS):
        scene.join("new", "a")
    scene.driver.refuse = None

    assert classic_group(scene).state == "Stable"
    assert first.beat() is ErrorCode.NONE
    assert second.beat() is ErrorCode.NONE
    assert scene.join("new", "a").epoch == first.generation + 1


def test_refused_join_does_not_change_the_classic_group() -> None:
    scene = Scene({"a": 4})
    first, _ = two(scene)

    with refusal(ErrorCode.INVALID_REGULAR_EXPRESSION):
        scene.join("new", regex="(")

    assert first.beat() is ErrorCode.NONE
