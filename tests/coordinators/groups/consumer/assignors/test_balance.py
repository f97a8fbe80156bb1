"""Members that subscribe to different topics: what Kafka gives, and how even that is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.groups.consumer.kafka import (
    Case,
    assigned,
    cases,
    everything,
    group_of,
    partitions_in,
    sizes,
)
from trio_kafka.coordinators.groups.consumer.assignors.spec import GroupAssignment, MemberSpec
from trio_kafka.coordinators.groups.consumer.assignors.uniform import UniformAssignor
from trio_kafka.model import TopicId

TOPICS = [TopicId(bytes([number]) * 16) for number in (1, 2, 200, 255)]


@pytest.mark.parametrize("case", cases("uniform", alike=False))
def test_uniform_assignment_with_different_subscriptions_equals_that_of_kafka(case: Case) -> None:
    assert assigned(UniformAssignor(), case.spec) == case.after


@given(
    st.dictionaries(
        st.sampled_from("abcdefg"),
        st.sets(st.sampled_from(range(len(TOPICS))), min_size=1),
        min_size=1,
    ),
    st.lists(st.integers(1, 9), min_size=len(TOPICS), max_size=len(TOPICS)),
)
def test_every_partition_is_assigned_once_to_a_subscribed_member(
    wants: dict[str, set[int]], counts: list[int]
) -> None:
    before: GroupAssignment = {}
    for round_ in range(3):
        names = [name for number, name in enumerate(sorted(wants)) if (number + round_) % 3]
        members = {
            name: MemberSpec(
                topics={TOPICS[want]: counts[want] for want in sorted(wants[name])},
                assigned=before.get(name, {}),
            )
            for name in names
        }
        group = group_of(members, homogeneous=False)
        result = assigned(UniformAssignor(), group)

        assert sorted(partitions_in(result)) == sorted(everything(group))
        for name, member in members.items():
            assert result[name].keys() <= member.topics.keys()
        before = result


def test_members_with_equal_subscriptions_get_balanced_assignments() -> None:
    first, second = TOPICS[:2]
    members = {
        **{f"a{number}": MemberSpec(topics={first: 10}) for number in range(3)},
        **{f"b{number}": MemberSpec(topics={second: 4}) for number in range(2)},
    }

    counts = sizes(assigned(UniformAssignor(), group_of(members, homogeneous=False)))

    assert sorted(counts[f"a{number}"] for number in range(3)) == [3, 3, 4]
    assert [counts["b0"], counts["b1"]] == [2, 2]


def test_only_partitions_needed_for_balance_are_moved() -> None:
    first, second = TOPICS[:2]
    members = {
        "a": MemberSpec(topics={first: 4}, assigned={first: {0, 1, 2, 3}}),
        "b": MemberSpec(topics={first: 4, second: 1}, assigned={second: {0}}),
    }

    result = assigned(UniformAssignor(), group_of(members, homogeneous=False))

    assert result == {"a": {first: {0, 1, 2}}, "b": {first: {3}, second: {0}}}
