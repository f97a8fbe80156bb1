"""One group when one event comes."""

from tests.coordinators.groups.classic.kit import GROUP, RANGE, SESSION_MS, ClassicKit
from trio_kafka.coordinators.groups.classic.transition import Transition
from trio_kafka.coordinators.groups.classic.values import JoinAnswer
from trio_kafka.coordinators.groups.settings import DEFAULT_GROUP_SETTINGS
from trio_kafka.coordinators.shards.effects import CancelTimer, SetTimer
from trio_kafka.errors import ErrorCode, KafkaError


def act_on(kit: ClassicKit) -> Transition:
    return Transition(kit.group, DEFAULT_GROUP_SETTINGS, 7)


def test_a_join_is_answered_once() -> None:
    kit = ClassicKit()
    kit.stable(1)
    kit.join(instance="i")
    transition = act_on(kit)
    [_, waiting] = kit.group.membership
    joined = JoinAnswer(member_id="i", error=ErrorCode.FENCED_INSTANCE_ID)

    transition.answer_join(waiting, joined)
    transition.answer_join(waiting, joined)
    transition.refuse_join(waiting, ErrorCode.UNKNOWN_MEMBER_ID, "")

    assert [answer for _, answer in transition.effects.answers] == [joined]
    assert kit.group.membership.joined == 0


def test_a_sync_is_answered_once() -> None:
    kit = ClassicKit()
    _, follower = kit.completing()
    kit.sync(follower)
    transition, member = act_on(kit), kit.group.membership[follower]

    assert transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    assert not transition.answer_sync(member, KafkaError(ErrorCode.UNKNOWN_MEMBER_ID))
    assert len(transition.effects.answers) == 1


def test_session_timers_are_set_and_cancelled() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    transition, key = act_on(kit), ("classic-session", GROUP, member)

    transition.renew_session(kit.group.membership[member])
    transition.renew_session(kit.group.membership[member], 5)
    transition.cancel_timers(member)

    assert transition.effects.timers == [
        SetTimer(key, SESSION_MS),
        SetTimer(key, 5),
        CancelTimer(key),
    ]


def test_only_the_leader_receives_the_member_list() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    transition = act_on(kit)

    assert [member.metadata for member in transition.current(leader).members] == [
        RANGE[0].metadata
    ] * 2
    assert transition.current(follower).members == ()


def test_later_transition_of_a_group_has_separate_effects() -> None:
    kit = ClassicKit()
    kit.stable(1)
    transition = act_on(kit)

    later = transition.later(9)

    assert (later.group, later.settings, later.now_ms) == (kit.group, transition.settings, 9)
    assert later.effects is not transition.effects
