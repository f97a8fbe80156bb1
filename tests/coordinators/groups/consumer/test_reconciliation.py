"""A member's way to its target: every state, every step out of it."""

from typing import Any

import pytest
from attrs import evolve

from trio_kafka.coordinators.groups.consumer.member import Member, MemberState, Owned
from trio_kafka.coordinators.groups.consumer.reconciliation import Goal, reconcile
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicId

A, B = TopicId(b"a" * 16), TopicId(b"b" * 16)
STABLE = MemberState.STABLE
UNREVOKED = MemberState.UNREVOKED_PARTITIONS
UNRELEASED = MemberState.UNRELEASED_PARTITIONS


def member(
    state: MemberState, epoch: int, assigned: Owned, revoking: Owned | None = None
) -> Member:
    return Member(
        member_id="m",
        epoch=epoch,
        previous_epoch=epoch,
        state=state,
        assigned=assigned,
        revoking=revoking or {},
    )


def goal(epoch: int, partitions: dict[TopicId, set[int]], **said: Any) -> Goal:
    """taken: what others own."""
    taken = said.pop("taken", ())
    fields: dict[str, Any] = {
        "subscribed": {A, B},
        "resubscribed": False,
        "is_free": lambda topic, number: (topic, number) not in taken,
        "owned": None,
    }
    return Goal(epoch=epoch, partitions=partitions, **fields | said)


def owns(topic: TopicId, *numbers: int) -> list[OwnedTopic]:
    return [OwnedTopic(topic, numbers)]


def test_member_at_its_target_is_unchanged() -> None:
    before = member(STABLE, 10, {A: {0: 3}})

    assert reconcile(before, goal(10, {A: {0}})) is before


def test_unchanged_target_in_a_new_epoch_advances_the_member_epoch() -> None:
    before = member(STABLE, 10, {A: {0: 3}})

    after = reconcile(before, goal(11, {A: {0}}))

    assert (after.epoch, after.previous_epoch, after.state) == (11, 10, STABLE)
    assert after.assigned == {A: {0: 3}}, "with the epoch since when it has it"


def test_free_partitions_are_assigned_at_once() -> None:
    two = reconcile(member(STABLE, 10, {A: {0: 3}}), goal(11, {A: {0, 1}, B: {5}}))

    assert (two.epoch, two.state) == (11, STABLE)
    assert two.assigned == {A: {0: 3, 1: 11}, B: {5: 11}}


def test_member_waits_in_the_new_epoch_for_partitions_of_other_owners() -> None:
    before = member(STABLE, 10, {A: {0: 3}})

    after = reconcile(before, goal(11, {A: {0, 1, 2}}, taken={(A, 1)}))

    assert (after.epoch, after.state) == (11, UNRELEASED)
    assert after.assigned == {A: {0: 3, 2: 11}}


def test_partitions_outside_the_target_are_revoked_before_new_assignments() -> None:
    before = member(STABLE, 10, {A: {0: 3, 1: 4}})

    after = reconcile(before, goal(11, {A: {0}, B: {0}}))

    assert (after.epoch, after.previous_epoch, after.state) == (10, 10, UNREVOKED)
    assert (after.assigned, after.revoking) == ({A: {0: 3}}, {A: {1: 4}})


def test_member_that_already_revoked_its_partitions_advances_at_once() -> None:
    before = member(STABLE, 10, {A: {0: 3, 1: 4}})

    after = reconcile(before, goal(11, {A: {0}}, owned=owns(A, 0)))

    assert (after.epoch, after.state, after.revoking) == (11, STABLE, {})


@pytest.mark.parametrize("owned", [None, owns(A, 0, 1), owns(A, 1)], ids=str)
def test_member_is_unchanged_while_still_owning_partitions_to_be_revoked(
    owned: list[OwnedTopic] | None,
) -> None:
    before = member(UNREVOKED, 10, {A: {0: 3}}, {A: {1: 4}})

    assert reconcile(before, goal(12, {A: {0}, B: {0}}, owned=owned)) is before


def test_member_moves_to_the_newest_target_after_revoking_all() -> None:
    before = member(UNREVOKED, 10, {A: {0: 3}}, {A: {1: 4}})

    after = reconcile(before, goal(12, {A: {0}, B: {0}}, owned=owns(A, 0)))

    assert (after.epoch, after.previous_epoch, after.state) == (12, 10, STABLE)
    assert (after.assigned, after.revoking) == ({A: {0: 3}, B: {0: 12}}, {})


def test_partitions_outside_the_newest_target_are_revoked_next() -> None:
    before = member(UNREVOKED, 10, {A: {0: 3, 2: 3}}, {A: {1: 4}})

    after = reconcile(before, goal(12, {A: {0}}, owned=owns(A, 0, 2)))

    assert (after.epoch, after.state) == (10, UNREVOKED)
    assert (after.assigned, after.revoking) == ({A: {0: 3}}, {A: {2: 3}})


def test_revoked_partition_can_be_assigned_to_the_same_member_again() -> None:
    before = member(UNREVOKED, 10, {A: {0: 3}}, {A: {1: 4}})
    taken = {(A, 1)}  # by itself, until now

    after = reconcile(before, goal(12, {A: {0, 1}}, owned=owns(A, 0), taken=taken))

    assert (after.state, after.assigned) == (STABLE, {A: {0: 3, 1: 12}})


def test_waiting_member_gets_partitions_as_other_members_release_them() -> None:
    first = member(UNRELEASED, 11, {A: {0: 3}})
    target: dict[TopicId, set[int]] = {A: {0, 1, 2}}

    second = reconcile(first, goal(11, target, taken={(A, 1)}))
    third = reconcile(second, goal(11, target))

    assert (second.state, second.assigned) == (UNRELEASED, {A: {0: 3, 2: 11}})
    assert (third.state, third.assigned) == (STABLE, {A: {0: 3, 2: 11, 1: 11}})


def test_member_that_waits_for_the_same_partitions_is_unchanged() -> None:
    before = member(UNRELEASED, 11, {A: {0: 3}})

    assert reconcile(before, goal(11, {A: {0, 1}}, taken={(A, 1)})) is before


def test_waiting_member_may_have_to_revoke_partitions() -> None:
    before = member(UNRELEASED, 11, {A: {0: 3}})

    after = reconcile(before, goal(12, {A: {1}}, taken={(A, 1)}))

    assert (after.epoch, after.state, after.revoking) == (11, UNREVOKED, {A: {0: 3}})


@pytest.mark.parametrize("state", [STABLE, UNREVOKED, UNRELEASED])
def test_partitions_of_unsubscribed_topics_are_not_assigned(state: MemberState) -> None:
    before = member(state, 10, {})

    after = reconcile(before, goal(11, {A: {0}, B: {0}}, subscribed={A}, owned=[]))

    assert after.assigned == {A: {0: 11}}


def test_unsubscribed_topics_are_revoked_even_under_an_old_target() -> None:
    before = member(STABLE, 10, {A: {0: 3}, B: {0: 4}})

    after = reconcile(before, goal(10, {A: {0}, B: {0}}, subscribed={A}, resubscribed=True))

    assert (after.epoch, after.state) == (10, UNREVOKED)
    assert (after.assigned, after.revoking) == ({A: {0: 3}}, {B: {0: 4}})


def test_unsubscribed_topic_is_added_to_the_partitions_to_be_revoked() -> None:
    before = member(UNREVOKED, 10, {A: {0: 3}, B: {0: 4}}, {A: {1: 3}})

    after = reconcile(
        before, goal(11, {A: {0}, B: {0}}, subscribed={A}, resubscribed=True, owned=owns(A, 0, 1))
    )

    assert (after.state, after.assigned) == (UNREVOKED, {A: {0: 3}})
    assert after.revoking == {A: {1: 3}, B: {0: 4}}


def test_unsubscribed_topic_that_is_not_owned_is_removed_at_once() -> None:
    before = member(STABLE, 10, {A: {0: 3}, B: {0: 4}})

    after = reconcile(
        before, goal(10, {A: {0}}, subscribed={A}, resubscribed=True, owned=owns(A, 0))
    )

    assert (after.epoch, after.state, after.assigned) == (10, STABLE, {A: {0: 3}})


def test_partition_revoked_in_advance_is_removed_at_once() -> None:
    before = member(STABLE, 10, {A: {0: 3, 1: 3}})

    after = reconcile(before, goal(11, {A: {0}}, owned=owns(A, 0)))

    assert (after.epoch, after.state, after.assigned) == (11, STABLE, {A: {0: 3}})


def test_changed_subscription_without_affected_partitions_changes_nothing() -> None:
    before = member(STABLE, 10, {A: {0: 3}})

    assert reconcile(before, goal(10, {A: {0}}, subscribed={A}, resubscribed=True)) is before


def test_member_in_an_unknown_state_is_fenced_while_owning_partitions() -> None:
    before = member(MemberState(5), 10, {A: {0: 3}})
    assert before.state is MemberState.UNKNOWN

    for owned in (None, owns(A, 0)):
        with pytest.raises(KafkaError) as caught:
            reconcile(before, goal(11, {A: {0}}, owned=owned))
        assert caught.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    after = reconcile(before, goal(11, {A: {0, 1}}, owned=[]))

    assert (after.state, after.epoch, after.assigned) == (STABLE, 11, {A: {0: 3, 1: 11}})


def test_reconciliation_does_not_modify_its_arguments() -> None:
    original = member(UNREVOKED, 10, {A: {0: 3}}, {A: {1: 4}})
    before = evolve(original)

    reconcile(original, goal(12, {A: {0, 1}, B: {0}}, owned=[]))

    assert (original.assigned, original.revoking) == (before.assigned, before.revoking)
