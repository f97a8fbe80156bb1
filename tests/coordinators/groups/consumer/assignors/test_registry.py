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


def test_first_configured_assignor_is_the_default() -> None:
    assert Assignors().names == ("uniform", "range")
    assert Assignors().default == "uniform"
    assert Assignors(["range", "uniform"]).default == "range"


def test_assignors_can_be_configured_by_kafka_class_names() -> None:
    package = "org.apache.kafka.coordinator.group.assignor"

    assert Assignors([f"{package}.RangeAssignor"]).names == ("range",)
    assert Assignors([f"{package}.UniformAssignor", "range"]).names == ("uniform", "range")


def test_assignor_of_a_plugin_can_be_added_and_removed() -> None:
    assignors, mine = Assignors(), Mine()

    assignors.swap((), [mine])

    assert assignors.names == ("uniform", "range", "mine")
    assert assignors.get("mine") is mine
    assignors.swap([mine], ())
    assignors.swap([mine], ())
    assert assignors.names == ("uniform", "range")
    assert assignors.get("mine").name == "uniform"


def test_new_assignor_of_a_plugin_replaces_the_old_assignor() -> None:
    assignors, old, new = Assignors(), Mine(), Mine()
    assignors.swap((), [old])

    assignors.swap([old], [new])

    assert assignors.get("mine") is new
    assignors.swap([old], ())
    assert assignors.get("mine") is new


def test_duplicate_assignor_name_is_refused_without_any_change() -> None:
    assignors, old = Assignors(), Mine()
    assignors.swap((), [old])

    for names in (["other", "mine"], ["other", "other"], ["range"]):
        with pytest.raises(ValueError, match="exists already"):
            assignors.swap((), [Mine(name) for name in names])

    assert assignors.names == ("uniform", "range", "mine")
    assert assignors.get("mine") is old


def test_plugin_cannot_use_the_name_of_an_unconfigured_builtin_assignor() -> None:
    with pytest.raises(ValueError, match="range"):
        Assignors(["uniform"]).swap((), [Mine("range")])


def test_setting_determines_the_position_of_a_plugin_assignor() -> None:
    assignors = Assignors(["mine", "range"])

    assert assignors.default == "range"
    assignors.swap((), [Mine()])
    assert assignors.names == ("mine", "range")
    assert assignors.default == "mine"


def test_uniform_is_used_when_no_configured_assignor_exists() -> None:
    assert Assignors(["mine"]).names == ("uniform",)


def test_assignor_with_the_most_members_wins_and_ties_go_to_the_first_configured() -> None:
    assignors = Assignors()

    assert assignors.preferred({}) == "uniform"
    assert assignors.preferred({"range": 1}) == "range"
    assert assignors.preferred({"range": 2, "uniform": 2}) == "uniform"
    assert assignors.preferred({"range": 3, "uniform": 2, "gone": 9}) == "range"
    assert assignors.preferred({"gone": 9}) == "uniform"


@pytest.mark.parametrize("assignor", BUILTIN, ids=lambda assignor: assignor.name)
@pytest.mark.parametrize("homogeneous", [True, False], ids=["alike", "different"])
def test_builtin_assignors_work_in_steps(assignor: Assignor, homogeneous: bool) -> None:
    topics = {TopicId(bytes([number]) * 16): 50 for number in range(40)}
    members = {f"m{number}": MemberSpec(topics=topics) for number in range(50)}

    steps = assignor.assign(GroupSpec(members=members, homogeneous=homogeneous))

    assert isgenerator(steps)
    assert 3 <= len(list(steps)) <= 2_000 / 10
