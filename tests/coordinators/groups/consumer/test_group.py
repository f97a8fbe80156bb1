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
    return [TopicOffsets("a", ZERO_TOPIC_ID, [PartitionOffset(one, 0, -1, "") for one in numbers])]


@pytest.fixture
def scene() -> Scene:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    return scene


def test_its_states_are_kafkas(scene: Scene) -> None:
    group = scene.group
    assert group.state == "Stable"
    group.epoch += 1
    assert group.state == "Assigning"
    group.assignment_epoch += 1
    assert group.state == "Reconciling"
    group.drop("m1")
    assert group.state == "Empty"
    assert (group.type, group.protocol_type, group.is_empty) == ("consumer", "consumer", True)


def test_members_commit_in_their_epoch_and_strangers_where_nobody_is(scene: Scene) -> None:
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


def test_an_old_epoch_commits_what_the_member_has_had_since(scene: Scene) -> None:
    scene.join("m2", "a")
    scene.beat("m1")
    scene.say_owned("m1")
    assert scene.group.by_id["m1"].epoch == 3

    scene.group.validate_commit("m1", None, 2, 9, offsets(0))
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        scene.group.validate_commit("m1", None, 2, 9, offsets(1))


def test_offsets_are_fetched_by_members_and_by_whoever_says_nothing(scene: Scene) -> None:
    group = scene.group

    group.validate_fetch(None, -1)
    with refusal(UNKNOWN):
        group.validate_fetch(None, 0)
    group.validate_fetch("m1", 2)
    with refusal(ErrorCode.STALE_MEMBER_EPOCH):
        group.validate_fetch("m1", 1)
    with refusal(UNKNOWN):
        group.validate_fetch("", -1)


def test_offsets_of_what_is_read_stay_and_others_expire_by_their_age(scene: Scene) -> None:
    group = scene.group

    group.validate_offset_delete()
    assert group.subscribed("a")
    assert not group.subscribed("b")
    assert group.offsets_kept_since(7) == 7


def test_it_is_deleted_when_it_is_empty(scene: Scene) -> None:
    group = scene.group
    with refusal(ErrorCode.NON_EMPTY_GROUP):
        group.validate_delete()
    scene.leave("m1")
    group.validate_delete()

    for record in group.tombstones():
        scene.driver.machine.replay(record)

    assert scene.driver.machine.by_id == {}


def test_tombstones_end_a_group_with_all_that_it_has() -> None:
    scene = Scene({"a": 2, "b": 1})
    scene.join("m1", "a", instance_id="i")
    scene.join("m2", regex="b")
    scene.wait(0)

    for record in scene.group.tombstones():
        assert record.value is None
        scene.driver.machine.replay(record)

    assert scene.driver.machine.by_id == {}


def test_it_tells_figures(scene: Scene) -> None:
    assert scene.group.describe()["members"] == 1
    assert [member.member_id for member in scene.group.members()] == ["m1"]


def test_of_two_owners_in_an_old_log_the_newest_counts(scene: Scene) -> None:
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


def test_a_static_member_that_is_dropped_does_not_take_its_successors_place(scene: Scene) -> None:
    group = scene.group
    group.put(Member(member_id="x", instance_id="i"))
    group.put(Member(member_id="y", instance_id="i"))

    group.drop("x")

    assert group.statics == {"i": "y"}
    assert group.static_member("i") is group.by_id["y"]
    assert group.static_member(None) is None
    assert group.target_of(Member(member_id="z", instance_id="new")) == {}


@pytest.mark.parametrize("name", ["topics", "regex"])
def test_whatever_changes_of_a_member_is_counted(scene: Scene, name: str) -> None:
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


def test_who_is_dropped_owns_nothing_any_more(scene: Scene) -> None:
    group = scene.group
    assert group.epochs

    group.drop("m1")

    assert group.epochs == {}
