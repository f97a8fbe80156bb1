"""LeaveGroup: members leave, alone or many at once, and administrators remove static ones."""

from tests.coordinators.groups.classic.kit import DELAY_MS, GROUP, ClassicKit
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import Joined, Leaving
from trio_kafka.errors import ErrorCode, KafkaError

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


def test_the_others_rebalance_at_once() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    assert kit.leave(leader) == [NONE]

    assert kit.beat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    assert kit.join(follower).joined.leader == follower


def test_the_last_one_leaves_an_empty_group() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    kit.leave(member)

    assert kit.state == "Empty"
    assert kit.group.generation == 2
    value = kit.driver.records[-1].value
    assert (value.generation, value.protocol, value.leader, value.members) == (2, None, None, [])
    assert value.protocol_type == "consumer"
    assert not [key for key in kit.driver.timers if GROUP in key]


def test_what_the_last_one_read_nobody_reads_any_more() -> None:
    kit = ClassicKit()
    members = kit.stable()
    assert kit.group.subscribed("t")

    kit.leave(*members)

    assert not kit.group.subscribed("t"), "its offsets may expire, and be deleted"


def test_many_leave_with_one_rebalance_and_each_has_its_own_answer() -> None:
    kit = ClassicKit()
    first, second, third = kit.stable(3)
    static = kit.join(instance="i")
    for member in (first, second, third):
        kit.join(member)
    kit.settle([first, second, third, static.joined.member_id])

    answer = kit.leave(
        first,
        "ghost",
        Leaving(member_id="", instance_id="i"),
        Leaving(member_id="", instance_id="other"),
        Leaving(member_id=second, instance_id="i"),
        Leaving(member_id=""),
        first,
    )

    assert answer == [NONE, UNKNOWN, NONE, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN]
    assert [member.member_id for member in kit.group.membership] == [second, third]
    assert kit.group.rebalances[-1].cause == (
        f"members have left: {first}, {static.joined.member_id}"
    )


def test_a_static_member_is_fenced_when_it_leaves_under_an_old_id() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")
    new = kit.join(instance="i").joined.member_id

    assert kit.leave(Leaving(member_id=old, instance_id="i")) == [ErrorCode.FENCED_INSTANCE_ID]
    assert kit.leave(Leaving(member_id=new, instance_id="i")) == [NONE]
    assert kit.state == "Empty"


def test_one_that_is_expected_leaves() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    pending = kit.new_id()
    asked = kit.join(leader)

    assert kit.leave(pending) == [NONE]

    assert asked.joined.generation == 2
    assert ("classic-session", GROUP, pending) not in kit.driver.timers


def test_one_that_waits_to_join_is_told() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    asked = kit.join(leader)

    kit.leave(leader)

    assert asked.answer == Joined(member_id="", error=UNKNOWN)
    assert kit.join(follower).joined.generation == 2


def test_one_that_waits_to_sync_is_told() -> None:
    kit = ClassicKit()
    _, follower = kit.completing()
    asked = kit.sync(follower)

    kit.leave(follower)

    assert asked.code is UNKNOWN


def test_a_first_rebalance_waits_out_its_delay_without_one_that_left() -> None:
    kit = ClassicKit()
    first, second = kit.joining(2)
    members = [member.member_id for member in kit.group.membership]

    kit.leave(members[0])

    assert first.code is UNKNOWN
    assert second.waits
    kit.wait(2 * DELAY_MS)
    assert second.joined.leader == members[1]


def test_a_group_that_is_not_there_or_has_ended_says_so() -> None:
    kit = ClassicKit()

    missing = kit.leave("ghost")
    kit.stable(1)
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))
    ended = kit.leave("ghost")

    assert isinstance(missing, KafkaError)
    assert missing.code is UNKNOWN
    assert isinstance(ended, KafkaError)
    assert ended.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
