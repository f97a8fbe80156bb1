"""What one event does to one group."""

from tests.coordinators.groups.classic.kit import GROUP, RANGE, SESSION_MS, ClassicKit
from trio_kafka.coordinators.effects import CancelTimer, SetTimer
from trio_kafka.coordinators.groups.classic.act import Act
from trio_kafka.coordinators.groups.classic.values import Joined
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.errors import ErrorCode, KafkaError


def act_on(kit: ClassicKit) -> Act:
    return Act(kit.group, DEFAULT_GROUP_SETTINGS, 7)


def test_a_join_is_answered_once() -> None:
    kit = ClassicKit()
    kit.stable(1)
    kit.join(instance="i")
    act = act_on(kit)
    [_, waiting] = kit.group.roster
    joined = Joined(member_id="i", error=ErrorCode.FENCED_INSTANCE_ID)

    act.answer_join(waiting, joined)
    act.answer_join(waiting, joined)
    act.refuse_join(waiting, ErrorCode.UNKNOWN_MEMBER_ID, "")

    assert [answer for _, answer in act.effects.answers] == [joined]
    assert kit.group.roster.joined == 0


def test_a_sync_is_answered_once() -> None:
    kit = ClassicKit()
    _, follower = kit.completing()
    kit.sync(follower)
    act, member = act_on(kit), kit.group.roster[follower]

    assert act.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    assert not act.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    assert len(act.effects.answers) == 1


def test_sessions_are_watched_and_not_watched() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    act, key = act_on(kit), ("classic-session", GROUP, member)

    act.watch(kit.group.roster[member])
    act.watch(kit.group.roster[member], 5)
    act.unwatch(member)

    assert act.effects.timers == [SetTimer(key, SESSION_MS), SetTimer(key, 5), CancelTimer(key)]


def test_the_leader_alone_is_told_the_members() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    act = act_on(kit)

    assert [one.metadata for one in act.current(leader).members] == [RANGE[0].metadata] * 2
    assert act.current(follower).members == ()


def test_what_follows_later_has_effects_of_its_own() -> None:
    kit = ClassicKit()
    kit.stable(1)
    act = act_on(kit)

    later = act.later(9)

    assert (later.group, later.settings, later.now_ms) == (kit.group, act.settings, 9)
    assert later.effects is not act.effects
