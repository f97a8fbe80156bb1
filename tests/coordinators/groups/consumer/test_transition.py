"""One event's effects on one group."""

from tests.coordinators.groups.consumer.kit import GROUP, SESSION_MS, Scene
from trio_kafka.coordinators.effects import CancelTimer, SetTimer
from trio_kafka.coordinators.groups.consumer.member import Member, MemberState
from trio_kafka.coordinators.groups.consumer.records import group_epoch
from trio_kafka.coordinators.groups.consumer.transition import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    Transition,
)
from trio_kafka.scheduling.chunked_work import whole

MEMBER = Member(member_id="m", epoch=3, rebalance_timeout_ms=7)


def an_act() -> Transition:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    return Transition.begin(scene.state, scene.group, 1000)


def test_a_new_epoch_is_the_next_one_with_the_hash() -> None:
    transition = an_act()

    assert transition.bump(5) == 3

    assert transition.effects.records == [group_epoch(GROUP, 3, 5)]


def test_topics_are_hashed_as_they_are_now() -> None:
    transition = an_act()

    assert whole(transition.metadata_hash({})) == 0
    assert (
        whole(transition.metadata_hash(transition.group.subscriptions.topics))
        == transition.group.metadata_hash
    )


def test_topics_that_have_been_looked_at_are_not_looked_at_soon() -> None:
    transition = an_act()
    transition.refreshed(2)
    assert not transition.group.needs_refresh(1000)
    assert transition.group.needs_refresh(1000 + 2**31)
    transition.refreshed(3)  # an epoch that was never written
    assert transition.group.needs_refresh(1000)


def test_a_session_is_the_groups_or_the_members_own() -> None:
    transition = an_act()

    transition.renew_session("m")
    transition.renew_session("n", 5)

    assert transition.effects.timers == [
        SetTimer((SESSION, GROUP, "m"), SESSION_MS),
        SetTimer((SESSION, GROUP, "n"), 5),
    ]


def test_a_member_is_followed_while_it_is_to_give_back() -> None:
    transition, key = an_act(), (REBALANCE, GROUP, "m")
    gives = MEMBER.moved(MemberState.UNREVOKED_PARTITIONS, 3, {}, {})

    transition.track_revocation(MEMBER)
    assert transition.effects.timers == []
    transition.track_revocation(gives)
    assert (transition.effects.timers, transition.state.revoking) == ([SetTimer(key, 7)], {key: 3})
    transition.track_revocation(MEMBER)

    assert transition.effects.timers[1:] == [CancelTimer(key)]
    assert transition.state.revoking == {}


def test_a_member_is_awaited_from_the_first_time_on() -> None:
    transition = an_act()

    transition.await_join(MEMBER)
    transition.await_join(MEMBER)
    assert transition.effects.timers == [SetTimer((JOIN, GROUP, "m"), 7)]
    transition.joined("m")
    transition.await_join(MEMBER)

    assert len(transition.effects.timers) == 3


def test_of_a_member_that_is_gone_nothing_is_due() -> None:
    transition = an_act()

    transition.cancel_timers("m")

    assert {timer.key[0] for timer in transition.effects.timers} == {SESSION, REBALANCE, JOIN, SYNC}
    assert all(isinstance(timer, CancelTimer) for timer in transition.effects.timers)
