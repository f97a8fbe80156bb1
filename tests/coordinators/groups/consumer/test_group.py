"""A consumer group as it is known to offsets, tools and records."""

from typing import Any

import pytest
from attrs import evolve

from tests.coordinators.groups.consumer.kit import UNKNOWN, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.offset_values import (
    PartitionOffset,
    TopicOffsets,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import ZERO_TOPIC_ID

A = topic_id("a")


def offsets(*numbers: int) -> list[TopicOffsets]:
    return [
        TopicOffsets("a", ZERO_TOPIC_ID, [PartitionOffset(number, 0, -1, "") for number in numbers])
    ]


@pytest.fixture
def scene() -> Scene:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    return scene


def test_group_has_the_states_of_kafka(scene: Scene) -> None:
    group = scene.group
    assert group.state == "Stable"
    group.epoch += 1
    assert group.state == "Assigning"
    group.assignment_epoch += 1
    assert group.state == "Reconciling"
    group.drop("m1")
    assert group.state == "Empty"
    assert (group.type, group.protocol_type, group.is_empty) == ("consumer", "consumer", True)


def test_commits_need_the_member_epoch_unless_the_group_is_empty(scene: Scene) -> None:
    group = scene.group

    group.validate_commit("m1", None, 2, 9, offsets(0))
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        group.validate_commit("m1", None, 3, 9, offsets(0))
    with refusal(UNKNOWN):
        group.validate_commit("", None, -1, 9, offsets(0))
    scene.leave("m1")
    group.validate_commit("", None, -1, 9, offsets(0))
    with refusal(UNKNOWN):
        group.validate_commit("", None, 0, 9, offsets(0))
    with refusal(UNKNOWN):
        group.validate_commit("m1", None, 2, 9, offsets(0))


def test_transactional_commits_check_member_and_epoch_only_if_they_are_given(scene: Scene) -> None:
    check = scene.group.validate_transactional_commit

    check("", None, -1, offsets(0))
    check("m1", None, 2, offsets(0))
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        check("m1", None, 3, offsets(0))
    with refusal(UNKNOWN):
        check("", None, 2, offsets(0))
    with refusal(UNKNOWN):
        check("other", None, -1, offsets(0))
    scene.leave("m1")
    check("other", None, -1, offsets(0))


def test_older_epoch_can_commit_partitions_owned_since_that_epoch(scene: Scene) -> None:
    scene.join("m2", "a")
    scene.beat("m1")
    scene.say_owned("m1")
    assert scene.group.by_id["m1"].epoch == 3

    scene.group.validate_commit("m1", None, 2, 9, offsets(0))
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        scene.group.validate_commit("m1", None, 2, 9, offsets(1))


def test_offset_fetch_needs_no_member_but_checks_a_given_member_and_epoch(scene: Scene) -> None:
    group = scene.group

    group.validate_fetch(None, -1)
    with refusal(UNKNOWN):
        group.validate_fetch(None, 0)
    group.validate_fetch("m1", 2)
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        group.validate_fetch("m1", 1)
    with refusal(UNKNOWN):
        group.validate_fetch("", -1)


def test_subscribed_topics_are_known_and_other_offsets_expire_by_age(scene: Scene) -> None:
    group = scene.group

    group.validate_offset_delete()
    assert group.subscribed("a")
    assert not group.subscribed("b")
    assert group.offsets_kept_since(7) == 7


def test_only_an_empty_group_can_be_deleted(scene: Scene) -> None:
    group = scene.group
    with refusal(ErrorCode.NON_EMPTY_GROUP):
        group.validate_delete()
    scene.leave("m1")
    group.validate_delete()

    for record in group.tombstones():
        scene.driver.machine.replay(record)

    assert scene.driver.machine.by_id == {}


def test_tombstones_remove_a_group_with_members_and_expressions() -> None:
    scene = Scene({"a": 2, "b": 1})
    scene.join("m1", "a", instance_id="i")
    scene.join("m2", regex="b")
    scene.wait(0)

    for record in scene.group.tombstones():
        assert record.value is None
        scene.driver.machine.replay(record)

    assert scene.driver.machine.by_id == {}


def test_inspection_shows_the_members_of_the_group(scene: Scene) -> None:
    assert scene.group.describe()["members"] == 1
    assert [member.member_id for member in scene.group.members()] == ["m1"]


def test_owner_with_the_newest_epoch_wins_for_a_doubly_owned_partition(scene: Scene) -> None:
    group = scene.group
    old = group.by_id["m1"]

    group.put(Member(member_id="m2", epoch=5, assigned={A: {0: 5}}))
    assert group.epochs[A] == {0: 5, 1: 2}
    group.put(Member(member_id="m3", epoch=4, assigned={A: {0: 4}}))
    assert group.epochs[A] == {0: 5, 1: 2}
    group.put(evolve(old, epoch=3))  # it owns what it owned, as far as it knows
    assert group.epochs[A] == {0: 5, 1: 3}
    group.put(group.by_id["m1"].left())

    assert group.epochs[A] == {0: 5}
    assert not group.is_free(A, 0)
    assert group.is_free(A, 1)


def test_dropping_a_replaced_static_member_keeps_its_successor(scene: Scene) -> None:
    group = scene.group
    group.put(Member(member_id="x", instance_id="i"))
    group.put(Member(member_id="y", instance_id="i"))

    group.drop("x")

    assert group.statics == {"i": "y"}
    assert group.static_member("i") is group.by_id["y"]
    assert group.static_member(None) is None
    assert group.target_of(Member(member_id="z", instance_id="new")) == {}


@pytest.mark.parametrize("name", ["topics", "regex"])
def test_changed_topics_or_expression_of_a_member_update_the_subscription_counts(
    scene: Scene, name: str
) -> None:
    group = scene.group
    before = Member(member_id="x", topics=("a",), regex="r")
    new: dict[str, Any] = {
        "topics": ("b",),
        "regex": "s",
    }
    group.put(before)

    group.put(evolve(before, **{name: new[name]}))

    counted = {
        "topics": {topic: count.by_name for topic, count in group.subscriptions.topics.items()},
        "regex": group.subscriptions.regexes,
    }
    assert (
        counted[name]
        == {
            "topics": {"a": 1, "b": 1},
            "regex": {"s": 1},
        }[name]
    )


def test_dropped_member_owns_no_partitions(scene: Scene) -> None:
    group = scene.group
    assert group.epochs

    group.drop("m1")

    assert group.epochs == {}
