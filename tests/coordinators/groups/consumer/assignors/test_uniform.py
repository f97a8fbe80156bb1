"""Uniform assignments: balanced, then sticky."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.groups.consumer.kafka import (
    Case,
    assigned,
    cases,
    everything,
    group_of,
    kept,
    partitions_in,
    sizes,
)
from trio_kafka.coordinators.groups.consumer.assignors.spec import MemberSpec, Partitions
from trio_kafka.coordinators.groups.consumer.assignors.uniform import UniformAssignor
from trio_kafka.model import TopicId

ALIKE = cases("uniform", alike=True)
A, B = TopicId(b"a" * 16), TopicId(b"b" * 16)


@pytest.mark.parametrize("case", [case for case in ALIKE if len(everything(case.spec)) < 15])
def test_uniform_assignment_of_a_single_topic_equals_that_of_kafka(case: Case) -> None:
    if len(next(iter(case.spec.members.values())).topics) == 1:
        assert assigned(UniformAssignor(), case.spec) == case.after


@pytest.mark.parametrize("case", ALIKE)
def test_members_get_and_keep_as_many_partitions_as_with_kafka(case: Case) -> None:
    # In which order topics are gone through is for Java's hash tables to say.
    result = assigned(UniformAssignor(), case.spec)

    assert sorted(partitions_in(result)) == sorted(everything(case.spec))
    assert sizes(result) == sizes(case.after)
    assert sum(kept(case.spec, result).values()) == sum(kept(case.spec, case.after).values())


@st.composite
def members_before_and_after(draw: st.DrawFn) -> tuple[dict[str, MemberSpec], dict[str, int]]:
    topics = {A: draw(st.integers(1, 12)), B: draw(st.integers(1, 12))}
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True))
    partitions = [(topic, number) for topic, size in topics.items() for number in range(size)]
    owners = {at: draw(st.sampled_from([*names, ""])) for at in partitions}
    members = {}
    for name in names:
        mine: dict[TopicId, frozenset[int]] = {}
        for topic in topics:
            of = frozenset(n for (t, n), owner in owners.items() if owner == name and t == topic)
            if of:
                mine[topic] = of
        members[name] = MemberSpec(topics=topics, assigned=mine)
    return members, dict.fromkeys(names, 0)


@given(members_before_and_after())
def test_uniform_assignment_is_complete_balanced_and_sticky(
    before_and_after: tuple[dict[str, MemberSpec], dict[str, int]],
) -> None:
    group = group_of(before_and_after[0], homogeneous=True)

    result = assigned(UniformAssignor(), group)

    counts = sizes(result)
    quota, extra = divmod(len(everything(group)), len(group.members))
    assert sorted(partitions_in(result)) == sorted(everything(group))
    assert sorted(counts.values()) == sorted([quota + 1] * extra + [quota] * (len(counts) - extra))
    before = sizes({name: member.assigned for name, member in group.members.items()})
    for name, count in kept(group, result).items():
        assert count >= min(before[name], quota), "what it may keep it keeps"


def test_partitions_stay_with_their_members_when_no_move_is_needed() -> None:
    first = assigned(
        UniformAssignor(),
        group_of({name: MemberSpec(topics={A: 7}) for name in "abc"}, homogeneous=True),
    )

    def again(names: str) -> dict[str, Partitions]:
        members = {name: MemberSpec(topics={A: 7}, assigned=first.get(name, {})) for name in names}
        return dict(assigned(UniformAssignor(), group_of(members, homogeneous=True)))

    assert again("abc") == first
    assert again("cab") == first
    four = again("abcd")
    assert all(four[name][A] <= first[name][A] for name in "abc")


def test_topic_without_subscribers_is_no_longer_assigned() -> None:
    members = {"a": MemberSpec(topics={A: 2}, assigned={A: {0}, B: {0, 1, 2}})}

    result = assigned(UniformAssignor(), group_of(members, homogeneous=True))

    assert result == {"a": {A: {0, 1}}}


def test_member_without_subscriptions_gets_an_empty_assignment() -> None:
    members = {"a": MemberSpec(topics={}, assigned={A: {0}})}

    assert assigned(UniformAssignor(), group_of(members, homogeneous=True)) == {"a": {}}
    assert assigned(UniformAssignor(), group_of({}, homogeneous=True)) == {}
