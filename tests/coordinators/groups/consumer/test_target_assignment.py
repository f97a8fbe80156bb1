"""Assignors are asked with all that there is, and their answers are checked."""

from collections.abc import Generator
from typing import Any

import pytest
from attrs import evolve

from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    AssignorError,
    GroupAssignment,
    GroupSpec,
)
from trio_kafka.coordinators.groups.consumer.target_assignment import may_assign, preferred_assignor
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupTargetAssignmentMemberKey

A = topic_id("a")


class Mine:
    """answer: what it returns, or raises; specs: the groups it was asked about."""

    name = "mine"

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.specs: list[GroupSpec] = []

    def assign(self, group: GroupSpec) -> GroupAssignment:
        self.specs.append(group)
        if isinstance(self.answer, Exception):
            raise self.answer
        answer: GroupAssignment = self.answer
        return answer


class InSteps(Mine):
    def assign(self, group: GroupSpec) -> Generator[None, None, Any]:  # type: ignore[override]
        yield
        yield
        return super().assign(group)


def scene_with(assignor: Mine) -> Scene:
    scene = Scene({"a": 2, "b": 1}, consumer_assignors=("mine", "uniform"))
    scene.assignors.swap((), [assignor])
    return scene


def test_plugin_assignor_gets_subscriptions_owners_and_racks() -> None:
    mine = Mine({"m1": {A: {1}}})
    scene = scene_with(mine)
    scene.with_racks(b1="rack")

    scene.join("m1", "a", "missing", rack_id="r", instance_id="i")
    scene.join("m2", "b")

    first, second = mine.specs
    assert first.homogeneous
    assert not second.homogeneous
    member = second.members["m1"]
    assert (member.topics, member.assigned) == ({A: 2}, {A: {1}})
    assert (member.instance_id, member.rack_id) == ("i", "r")
    assert second.members["m2"].topics == {topic_id("b"): 1}
    assert second.owners == {A: {1: "m1"}}
    assert second.racks(A, 0) == {"rack"}
    assert second.racks(A, 9) == second.racks(topic_id("x"), 0) == frozenset()
    assert scene.has("m1") == {"a": [1]}


def test_assignor_may_work_in_steps() -> None:
    scene = scene_with(InSteps({"m1": {A: {0, 1}}}))

    scene.join("m1", "a")

    assert scene.has("m1") == {"a": [0, 1]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (AssignorError("no idea"), "no idea"),
        (ZeroDivisionError("oops"), "ZeroDivisionError: oops"),
        ({"m9": {}}, "member m9 does not exist"),
        ({"m1": {A: {2}}}, f"m1 can have no partition 2 of {A.hex()}"),
        ({"m1": {A: {-1}}}, f"m1 can have no partition -1 of {A.hex()}"),
        ({"m1": {topic_id("b"): {0}}}, f"m1 can have no partition 0 of {topic_id('b').hex()}"),
        ({"m1": {A: [0, 0]}}, f"partition 0 of {A.hex()} is assigned twice"),
        (None, "AttributeError: 'NoneType' object has no attribute 'items'"),
    ],
    ids=str,
)
def test_failed_or_invalid_assignment_is_an_error_for_the_member(answer: Any, reason: str) -> None:
    scene = scene_with(Mine(answer))
    message = f"Failed to compute a new target assignment for epoch 2: {reason}"

    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR, message):
        scene.join("m1", "a")

    assert GROUP not in scene.driver.machine.by_id
    assert scene.join("m2", "a", assignor="uniform").epoch == 2


def test_default_assignor_replaces_the_assignor_of_an_unloaded_plugin() -> None:
    mine = Mine({"m1": {A: {0, 1}}})
    scene = scene_with(mine)
    scene.join("m1", "a", assignor="mine")

    scene.assignors.swap([mine], ())
    scene.join("m2", "a")
    scene.settle()

    assert (scene.has("m1"), scene.has("m2")) == ({"a": [0]}, {"a": [1]})


def test_only_changed_target_assignments_are_written() -> None:
    scene = Scene({"a": 4})
    for name in ("m1", "m2", "m3"):
        scene.join(name, "a")
    scene.settle()
    written = len(scene.driver.log)

    scene.join("m4", "a")

    changed = [
        record.key.member_id
        for record in scene.driver.records[written:]
        if isinstance(record.key, ConsumerGroupTargetAssignmentMemberKey)
    ]
    assert len(changed) == 2
    assert "m4" in changed


def test_empty_target_assignment_of_a_member_is_written() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    scene.join("m2", "a")

    assert scene.group.targets == {"m1": {A: {0}}, "m2": {}}


def test_members_with_different_subscriptions_get_only_subscribed_topics() -> None:
    scene = Scene({"a": 2, "b": 3})
    scene.join("m1", "a")
    scene.join("m2", "a", "b")
    scene.settle()

    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.has("m2") == {"b": [0, 1, 2]}


def test_assignment_interval_of_zero_delays_no_assignment() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)

    assert may_assign(transition)
    held = Scene({"a": 1}, at_once=False)
    held.join("m1", "a")
    assert not may_assign(Transition.begin(held.state, held.group, held.driver.now_ms))


def test_preferred_assignor_is_the_assignor_requested_by_the_only_member() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a", assignor="uniform")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)
    member = scene.group.by_id["m1"]

    assert preferred_assignor(transition, member) == "uniform"


def test_member_that_changes_its_assignor_no_longer_counts_for_the_old_assignor() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", assignor="uniform")
    scene.join("m2", "a", assignor="range")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)
    member = scene.group.by_id["m1"]

    assert preferred_assignor(transition, member) == "uniform"
    assert preferred_assignor(transition, evolve(member, assignor="range")) == "range"
    assert preferred_assignor(transition, evolve(member, assignor=None)) == "range"
