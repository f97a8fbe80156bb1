"""Which assignors members can ask for, and which one a group gets."""

import pytest

from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.assignors.spec import GroupAssignment, GroupSpec


class Mine:
    """A plugin's."""

    name = "mine"

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

    assignors.add(mine)

    assert assignors.names == ("uniform", "range", "mine")
    assert assignors.get("mine") is mine
    with pytest.raises(ValueError, match="mine"):
        assignors.add(Mine())
    assignors.remove(mine)
    assignors.remove(mine)
    assert assignors.names == ("uniform", "range")
    assert assignors.get("mine").name == "uniform"


def test_a_plugin_cannot_stand_in_for_one_that_is_built_in() -> None:
    mine = Mine()
    mine.name = "range"

    with pytest.raises(ValueError, match="range"):
        Assignors(["uniform"]).add(mine)


def test_the_setting_says_where_a_plugins_assignor_counts() -> None:
    assignors = Assignors(["mine", "range"])

    assert assignors.default == "range"
    assignors.add(Mine())
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
