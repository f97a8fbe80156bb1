"""Rebalances end: by those who join, or by the clock."""

from functools import partial

import pytest

from tests.coordinators.groups.classic.kit import (
    DELAY_MS,
    GROUP,
    REBALANCE_MS,
    ClassicKit,
    subscription,
)
from trio_kafka.coordinators.groups.classic.group import JOIN, ClassicGroup
from trio_kafka.coordinators.groups.classic.joining import join
from trio_kafka.coordinators.groups.classic.rebalance import prepare_or_complete
from trio_kafka.coordinators.groups.classic.states import ClassicState
from trio_kafka.coordinators.groups.classic.syncing import sync
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, Join, Sync
from trio_kafka.coordinators.groups.history import REBALANCES
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.shards.protocols import Event
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.scheduling.chunked_work import step


def test_a_rebalance_ends_when_the_last_member_has_joined() -> None:
    kit = ClassicKit()
    members = kit.stable(3)
    requests = [kit.join(member) for member in members]

    assert [each.joined.generation for each in requests] == [2, 2, 2]
    assert ("classic-join", GROUP) not in kit.driver.timers


def test_rebalance_waits_for_the_longest_rebalance_timeout_of_the_members() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1, rebalance_ms=5000)
    kit.join(kit.new_id(), rebalance_ms=90_000)

    assert kit.driver.timers[("classic-join", GROUP)] == 90_000
    assert kit.beat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_another_member_becomes_leader_when_the_leader_does_not_rejoin() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable(2)
    static = kit.join(instance="i", session_ms=1_000_000)
    kit.join(leader)
    kit.join(follower)
    kit.settle([leader, follower, static.joined.member_id])
    kit.leave(leader, follower)
    newcomer = kit.join(kit.new_id())
    assert kit.group.leader == static.joined.member_id

    kit.wait(REBALANCE_MS)

    assert newcomer.joined.leader == newcomer.joined.member_id
    assert len(newcomer.joined.members) == 2


def test_initial_rebalance_without_remaining_members_ends_in_an_empty_group() -> None:
    kit = ClassicKit()
    request = kit.join(version=3)
    kit.leave("client-1")
    assert request.code is ErrorCode.UNKNOWN_MEMBER_ID

    kit.wait(DELAY_MS)

    assert kit.state == "Empty"
    assert kit.group.generation == 1


def test_initial_delay_applies_again_to_a_group_that_became_empty() -> None:
    kit = ClassicKit()
    for member in kit.stable(2):
        kit.leave(member)
    request = kit.joining(1)[0]

    kit.wait(DELAY_MS)

    assert request.joined.generation == 3


def test_group_becomes_empty_even_when_the_record_is_refused() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.driver.refuse = KafkaError(ErrorCode.NOT_COORDINATOR)

    kit.wait(10_000)

    assert kit.state == "Empty"
    assert kit.driver.reload().machine.by_id[GROUP].state == "Stable"
    assert kit.beat(member) is ErrorCode.UNKNOWN_MEMBER_ID


def test_group_keeps_a_bounded_history_of_rebalances() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)

    for _ in range(2 * REBALANCES):
        kit.join(leader)
        kit.settle([leader])

    causes = [rebalance.cause for rebalance in kit.group.history.rebalances]
    assert len(causes) == REBALANCES
    assert set(causes) == {f"leader {leader} joins again (not provided)"}
    assert [rebalance.generation for rebalance in kit.group.history.rebalances] == list(
        range(9, 17)
    )


def test_late_join_and_sync_timers_do_not_change_a_stable_group() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    kit.driver.apply(lambda groups, now_ms: groups.timer(("classic-join", GROUP), now_ms))
    kit.driver.apply(lambda groups, now_ms: groups.timer(("classic-sync", GROUP), now_ms))

    assert kit.state == "Stable"
    assert member in kit.group.membership


MANY = 2000


def test_change_of_members_in_a_state_without_members_raises_an_invariant_error() -> None:
    group = ClassicGroup(group_id="g", phase=ClassicState.DEAD, since_ms=1)

    with pytest.raises(InvariantError, match="MEMBERS_CHANGE in state Dead"):
        prepare_or_complete(Transition(group, DEFAULT_GROUP_SETTINGS, 2), "a member is lost")


def taken_in_steps(kit: ClassicKit, event: Event) -> tuple[Effects, list[int]]:
    """Perform an event that must pause; its effects, and how many joins each step had answered."""
    steps = event(kit.driver.machine, "mine", kit.driver.now_ms)
    assert not isinstance(steps, Effects)
    result, done = None, []
    while result is None:
        before = kit.group.membership.joined
        result = step(steps)
        done.append(before - kit.group.membership.joined)
    effects = result.value
    kit.driver.submit(lambda *_: effects)
    return effects, done


def large_group(kit: ClassicKit) -> list[str]:
    """The ids of the members of a generation; each subscribes to a topic of its own."""
    requests = [kit.join(kit.new_id(), protocols=reading(f"t{number}")) for number in range(MANY)]
    kit.wait(2 * DELAY_MS)
    return [each.joined.member_id for each in requests]


def reading(topic: str) -> tuple[GroupProtocol, ...]:
    return (GroupProtocol("range", subscription(topic)),)


@pytest.mark.slow
def test_generation_with_many_members_begins_in_steps() -> None:
    """With the last member that joins, or when those who have not joined are no longer waited
    for.
    """
    kit = ClassicKit(max_size=MANY)
    members = large_group(kit)
    assert kit.group.topics == frozenset(f"t{number}" for number in range(MANY))
    last = Join(
        member_id=members[0],
        client_id="client",
        client_host="/127.0.0.1",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=REBALANCE_MS,
        protocol_type="consumer",
        protocols=reading("a"),
    )

    for member in members[1:]:
        assert kit.join(member, protocols=reading("a")).waits
    effects, done = taken_in_steps(kit, partial(join, GROUP, last))

    assert (kit.state, kit.group.generation) == ("CompletingRebalance", 2)
    assert (max(done), sum(done), len(effects.answers)) == (100, MANY, MANY)
    assert done.count(0) >= MANY // 100  # in which subscriptions were read
    assert [len(joined.members) for _, joined in effects.answers] == [MANY] + [0] * (MANY - 1)

    for member in members[1:]:
        assert kit.join(member, protocols=reading("b")).waits
    effects, done = taken_in_steps(kit, lambda groups, _, now: groups.timer((JOIN, GROUP), now))

    assert (kit.state, kit.group.generation) == ("CompletingRebalance", 3)
    assert (max(done), sum(done), len(effects.answers)) == (100, MANY - 1, MANY - 1)


@pytest.mark.slow
def test_generation_with_many_members_is_stored_in_steps() -> None:
    kit = ClassicKit(max_size=MANY)
    members = large_group(kit)
    assignments = {member: member.encode() for member in members}
    syncing = Sync(member_id=members[0], generation=1, assignments=assignments)

    _, done = taken_in_steps(kit, partial(sync, GROUP, syncing))

    assert len(done) == MANY // 100 + 1
    assert kit.state == "Stable"
    stored = kit.driver.reload().machine.by_id[GROUP]
    assert isinstance(stored, ClassicGroup)
    assert {member.member_id: member.assignment for member in stored.membership} == assignments
