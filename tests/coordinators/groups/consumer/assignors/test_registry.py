"""Which assignors members can ask for, and which one a group gets."""

from inspect import isgenerator

import pytest

from trio_kafka.coordinators.groups.consumer.assignors.registry import BUILTIN, Assignors
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
)
from trio_kafka.model import TopicId


class Mine:
    """A plugin's."""

    def __init__(self, name: str = "mine") -> None:
        self.name = name

    def assign(self, group: GroupSpec) -> GroupAssignment:
        del group
        return {}


def test_kafka_has_two_and_the_first_is_the_default() -> None:
    assert Assignors().names == ("uniform", "range")
    assert Assignors().default == "uniform"
    assert Assignors(["range", "uniform"]).default == "range"


def test_they_can_be_called_by_kafkas_classes() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"

    assert Assignors([f"{package}.RangeAssignor"]).names == ("range",)
    assert Assignors([f"{package}.UniformAssignor", "range"]).names == ("uniform", "range")


def test_a_plugin_brings_one_and_takes_it_away() -> None:
    assignors, mine = Assignors(), Mine()

    assignors.swap((), [mine])

    assert assignors.names == ("uniform", "range", "mine")
    assert assignors.get("mine") is mine
    assignors.swap([mine], ())
    assignors.swap([mine], ())
    assert assignors.names == ("uniform", "range")
    assert assignors.get("mine").name == "uniform"


def test_one_generation_follows_another() -> None:
    assignors, old, new = Assignors(), Mine(), Mine()
    assignors.swap((), [old])

    assignors.swap([old], [new])

    assert assignors.get("mine") is new
    assignors.swap([old], ())
    assert assignors.get("mine") is new


def test_a_name_that_is_taken_changes_nothing() -> None:
    assignors, old = Assignors(), Mine()
    assignors.swap((), [old])

    for names in (["other", "mine"], ["other", "other"], ["range"]):
        with pytest.raises(ValueError, match="exists already"):
            assignors.swap((), [Mine(name) for name in names])

    assert assignors.names == ("uniform", "range", "mine")
    assert assignors.get("mine") is old


def test_a_plugin_cannot_stand_in_for_one_that_is_built_in() -> None:
    with pytest.raises(ValueError, match="range"):
        Assignors(["uniform"]).swap((), [Mine("range")])


def test_the_setting_says_where_a_plugins_assignor_counts() -> None:
    assignors = Assignors(["mine", "range"])

    assert assignors.default == "range"
    assignors.swap((), [Mine()])
    assert assignors.names == ("mine", "range")
    assert assignors.default == "mine"


def test_uniform_is_left_where_nothing_else_is() -> None:
    assert Assignors(["mine"]).names == ("uniform",)


def test_most_members_decide_and_the_first_of_the_setting_between_equals() -> None:
    assignors = Assignors()

    assert assignors.preferred({}) == "uniform"
    assert assignors.preferred({"range": 1}) == "range"
    assert assignors.preferred({"range": 2, "uniform": 2}) == "uniform"
    assert assignors.preferred({"range": 3, "uniform": 2, "gone": 9}) == "range"
    assert assignors.preferred({"gone": 9}) == "uniform"


@pytest.mark.parametrize("assignor", BUILTIN, ids=lambda assignor: assignor.name)
@pytest.mark.parametrize("homogeneous", [True, False], ids=["alike", "different"])
def test_who_is_built_in_pauses_now_and_then(assignor: Assignor, homogeneous: bool) -> None:
    topics = {TopicId(bytes([number]) * 16): 50 for number in range(40)}
    members = {f"m{number}": MemberSpec(topics=topics) for number in range(50)}

    steps = assignor.assign(GroupSpec(members=members, homogeneous=homogeneous))

    assert isgenerator(steps)
    assert 3 <= len(list(steps)) <= 2_000 / 10
