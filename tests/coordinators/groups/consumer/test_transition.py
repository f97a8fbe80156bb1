"""One event's effects on one group."""

from tests.coordinators.groups.consumer.kit import GROUP, SESSION_MS, Scene
from trio_kafka.coordinators.groups.consumer.member import Member, MemberState
from trio_kafka.coordinators.groups.consumer.records import group_epoch
from trio_kafka.coordinators.groups.consumer.transition import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    Transition,
)
from trio_kafka.coordinators.shards.effects import CancelTimer, SetTimer
from trio_kafka.scheduling.chunked_work import whole

MEMBER = Member(member_id="m", epoch=3, rebalance_timeout_ms=7)


def an_act() -> Transition:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    return Transition.begin(scene.state, scene.group, 1000)


def test_bump_writes_the_next_group_epoch_with_the_metadata_hash() -> None:
    transition = an_act()

    assert transition.bump(5, "a topic has changed") == 3

    assert transition.effects.records == [group_epoch(GROUP, 3, 5)]


def test_metadata_hash_is_that_of_the_current_topics() -> None:
    transition = an_act()

    assert whole(transition.metadata_hash({})) == 0
    assert (
        whole(transition.metadata_hash(transition.group.subscriptions.topics))
        == transition.group.metadata_hash
    )


def test_refreshed_group_needs_no_refresh_unless_its_epoch_was_not_written() -> None:
    transition = an_act()
    transition.refreshed(2)
    assert not transition.group.needs_refresh(1000)
    assert transition.group.needs_refresh(1000 + 2**31)
    transition.refreshed(3)  # an epoch that was never written
    assert transition.group.needs_refresh(1000)


def test_session_timer_uses_the_timeout_of_the_group_or_of_the_member() -> None:
    transition = an_act()

    transition.renew_session("m")
    transition.renew_session("n", 5)

    assert transition.effects.timers == [
        SetTimer((SESSION, GROUP, "m"), SESSION_MS),
        SetTimer((SESSION, GROUP, "n"), 5),
    ]


def test_rebalance_timer_runs_while_a_member_has_partitions_to_revoke() -> None:
    transition, key = an_act(), (REBALANCE, GROUP, "m")
    gives = MEMBER.moved(MemberState.UNREVOKED_PARTITIONS, 3, {}, {})

    transition.track_revocation(MEMBER)
    assert transition.effects.timers == []
    transition.track_revocation(gives)
    assert (transition.effects.timers, transition.state.revoking) == ([SetTimer(key, 7)], {key: 3})
    transition.track_revocation(MEMBER)

    assert transition.effects.timers[1:] == [CancelTimer(key)]
    assert transition.state.revoking == {}


def test_repeated_wait_for_a_rejoin_keeps_the_first_timer() -> None:
    transition = an_act()

    transition.await_join(MEMBER)
    transition.await_join(MEMBER)
    assert transition.effects.timers == [SetTimer((JOIN, GROUP, "m"), 7)]
    transition.joined("m")
    transition.await_join(MEMBER)

    assert len(transition.effects.timers) == 3


def test_cancel_timers_cancels_all_timers_of_a_member() -> None:
    transition = an_act()

    transition.cancel_timers("m")

    assert {timer.key[0] for timer in transition.effects.timers} == {SESSION, REBALANCE, JOIN, SYNC}
    assert all(isinstance(timer, CancelTimer) for timer in transition.effects.timers)
