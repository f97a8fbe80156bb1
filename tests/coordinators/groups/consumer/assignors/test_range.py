"""Ranges, as Kafka lays them."""

import pytest

from tests.coordinators.groups.consumer.kafka import Case, assigned, cases, group_of
from trio_kafka.coordinators.groups.consumer.assignors.range import RangeAssignor
from trio_kafka.coordinators.groups.consumer.assignors.spec import MemberSpec
from trio_kafka.model import TopicId

A, B = TopicId(b"a" * 16), TopicId(b"b" * 16)


@pytest.mark.parametrize("case", cases("range"))
def test_range_assignment_equals_that_of_kafka(case: Case) -> None:
    assert assigned(RangeAssignor(), case.spec) == case.after


def test_topics_with_equal_partition_counts_are_assigned_alike() -> None:
    members = {name: MemberSpec(topics={A: 5, B: 5}) for name in ("m2", "m1")}

    result = assigned(RangeAssignor(), group_of(members, homogeneous=True))

    assert result == {
        "m1": {A: {0, 1, 2}, B: {0, 1, 2}},
        "m2": {A: {3, 4}, B: {3, 4}},
    }


def test_static_members_are_assigned_first_in_order_of_instance_id() -> None:
    members = {
        "a": MemberSpec(topics={A: 3}),
        "b": MemberSpec(topics={A: 3}, instance_id="2"),
        "c": MemberSpec(topics={A: 3}, instance_id="1"),
    }

    result = assigned(RangeAssignor(), group_of(members, homogeneous=True))

    assert result == {"c": {A: {0}}, "b": {A: {1}}, "a": {A: {2}}}


def test_group_without_members_gets_an_empty_assignment() -> None:
    assert assigned(RangeAssignor(), group_of({}, homogeneous=True)) == {}
