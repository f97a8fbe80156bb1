"""One event's effects on one group."""

from tests.coordinators.groups.consumer.kit import GROUP, SESSION_MS, Scene
from trio_kafka.coordinators.effects import CancelTimer, SetTimer
from trio_kafka.coordinators.groups.consumer.act import JOIN, REBALANCE, SESSION, SYNC, Act
from trio_kafka.coordinators.groups.consumer.member import Member, MemberState
from trio_kafka.coordinators.groups.consumer.records import group_epoch
from trio_kafka.scheduling.chunked_work import whole

MEMBER = Member(member_id="m", epoch=3, rebalance_timeout_ms=7)


def an_act() -> Act:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    return scene.kind.act(scene.group, 1000)


def test_a_new_epoch_is_the_next_one_with_the_hash() -> None:
    act = an_act()

    assert act.bump(5) == 3

    assert act.effects.records == [group_epoch(GROUP, 3, 5)]


def test_topics_are_hashed_as_they_are_now() -> None:
    act = an_act()

    assert whole(act.metadata_hash({})) == 0
    assert whole(act.metadata_hash(act.group.subscriptions.topics)) == act.group.metadata_hash


def test_topics_that_have_been_looked_at_are_not_looked_at_soon() -> None:
    act = an_act()
    act.refreshed(2)
    assert not act.group.needs_refresh(1000)
    assert act.group.needs_refresh(1000 + 2**31)
    act.refreshed(3)  # an epoch that was never written
    assert act.group.needs_refresh(1000)


def test_a_session_is_the_groups_or_the_members_own() -> None:
    act = an_act()

    act.watch("m")
    act.watch("n", 5)

    assert act.effects.timers == [
        SetTimer((SESSION, GROUP, "m"), SESSION_MS),
        SetTimer((SESSION, GROUP, "n"), 5),
    ]


def test_a_member_is_followed_while_it_is_to_give_back() -> None:
    act, key = an_act(), (REBALANCE, GROUP, "m")
    gives = MEMBER.moved(MemberState.UNREVOKED_PARTITIONS, 3, {}, {})

    act.follow(MEMBER)
    assert act.effects.timers == []
    act.follow(gives)
    assert (act.effects.timers, act.kind.revoking) == ([SetTimer(key, 7)], {key: 3})
    act.follow(MEMBER)

    assert act.effects.timers[1:] == [CancelTimer(key)]
    assert act.kind.revoking == {}


def test_a_member_is_awaited_from_the_first_time_on() -> None:
    act = an_act()

    act.await_join(MEMBER)
    act.await_join(MEMBER)
    assert act.effects.timers == [SetTimer((JOIN, GROUP, "m"), 7)]
    act.joined("m")
    act.await_join(MEMBER)

    assert len(act.effects.timers) == 3


def test_of_a_member_that_is_gone_nothing_is_due() -> None:
    act = an_act()

    act.unwatch("m")

    assert {timer.key[0] for timer in act.effects.timers} == {SESSION, REBALANCE, JOIN, SYNC}
    assert all(isinstance(timer, CancelTimer) for timer in act.effects.timers)
