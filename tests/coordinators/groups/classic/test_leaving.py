"""LeaveGroup: members leave, alone or many at once, and administrators remove static ones."""

from tests.coordinators.groups.classic.kit import DELAY_MS, GROUP, ClassicKit
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import JoinAnswer, LeavingMember
from trio_kafka.errors import ErrorCode, KafkaError

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_member_causes_a_rebalance_of_the_others() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    assert kit.leave(leader) == [NONE]

    assert kit.beat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    assert kit.join(follower).joined.leader == follower


def test_group_is_stored_as_empty_when_its_last_member_leaves() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    kit.leave(member)

    assert kit.state == "Empty"
    assert kit.group.generation == 2
    value = kit.driver.records[-1].value
    assert (value.generation, value.protocol, value.leader, value.members) == (2, None, None, [])
    assert value.protocol_type == "consumer"
    assert not [key for key in kit.driver.timers if GROUP in key]


def test_group_is_subscribed_to_no_topic_after_its_last_member_left() -> None:
    kit = ClassicKit()
    members = kit.stable()
    assert kit.group.subscribed("t")

    kit.leave(*members)

    assert not kit.group.subscribed("t"), "its offsets may expire, and be deleted"


def test_many_members_leave_with_one_rebalance_and_an_answer_each() -> None:
    kit = ClassicKit()
    first, second, third = kit.stable(3)
    static = kit.join(instance="i")
    for member in (first, second, third):
        kit.join(member)
    kit.settle([first, second, third, static.joined.member_id])

    answer = kit.leave(
        first,
        "ghost",
        LeavingMember(member_id="", instance_id="i"),
        LeavingMember(member_id="", instance_id="other"),
        LeavingMember(member_id=second, instance_id="i"),
        LeavingMember(member_id=""),
        first,
    )

    assert answer == [NONE, UNKNOWN, NONE, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
    assert [member.member_id for member in kit.group.membership] == [second, third]
    assert kit.group.history.rebalances[-1].cause == (
        f"members have left: {first}, {static.joined.member_id}"
    )


def test_static_member_that_leaves_under_its_old_id_is_fenced() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")
    new = kit.join(instance="i").joined.member_id

    assert kit.leave(LeavingMember(member_id=old, instance_id="i")) == [
        ErrorCode.FENCED_INSTANCE_ID
    ]
    assert kit.leave(LeavingMember(member_id=new, instance_id="i")) == [NONE]
    assert kit.state == "Empty"


def test_leaving_pending_member_completes_the_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    pending = kit.new_id()
    request = kit.join(leader)

    assert kit.leave(pending) == [NONE]

    assert request.joined.generation == 2
    assert ("classic-session", GROUP, pending) not in kit.driver.timers


def test_waiting_join_of_a_leaving_member_is_refused() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    request = kit.join(leader)

    kit.leave(leader)

    assert request.answer == JoinAnswer(member_id="", error=UNKNOWN)
    assert kit.join(follower).joined.generation == 2


def test_waiting_sync_of_a_leaving_member_is_refused() -> None:
    kit = ClassicKit()
    _, follower = kit.completing()
    request = kit.sync(follower)

    kit.leave(follower)

    assert request.code is UNKNOWN


def test_first_rebalance_keeps_its_initial_delay_after_a_member_left() -> None:
    kit = ClassicKit()
    first, second = kit.joining(2)
    members = [member.member_id for member in kit.group.membership]

    kit.leave(members[0])

    assert first.code is UNKNOWN
    assert second.waits
    kit.wait(2 * DELAY_MS)
    assert second.joined.leader == members[1]


def test_leaving_an_unknown_or_dead_group_is_an_error() -> None:
    kit = ClassicKit()

    missing = kit.leave("ghost")
    kit.stable(1)
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))
    ended = kit.leave("ghost")

    assert isinstance(missing, KafkaError)
    assert missing.code is UNKNOWN
    assert isinstance(ended, KafkaError)
    assert ended.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
