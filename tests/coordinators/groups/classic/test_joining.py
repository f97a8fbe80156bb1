"""JoinGroup: who is let in, who is told what, and what a join changes for the others."""

import pytest

from tests.coordinators.groups.classic.kit import (
    BOTH,
    DELAY_MS,
    GROUP,
    RANGE,
    REBALANCE_MS,
    ROUND_ROBIN,
    SESSION_MS,
    ClassicKit,
    subscription,
)
from trio_kafka.coordinators.groups.classic.joining import NEW_MEMBER_TIMEOUT_MS
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, JoinAnswer, JoinedMember
from trio_kafka.errors import ErrorCode


def test_first_join_of_a_new_member_is_answered_with_a_member_id_to_join_with() -> None:
    kit = ClassicKit()

    request = kit.join(client="app")

    assert request.answer == JoinAnswer(member_id="app-1", error=ErrorCode.MEMBER_ID_REQUIRED)
    assert kit.state == "Empty"
    assert kit.group.membership.pending == {"app-1"}


def test_unused_member_id_is_forgotten_after_the_session_timeout() -> None:
    kit = ClassicKit()
    member = kit.new_id(session_ms=7000)

    kit.wait(7000)

    assert not kit.group.membership.pending
    assert kit.join(member).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_old_request_versions_join_without_a_member_id() -> None:
    kit = ClassicKit()

    request = kit.join(version=3)

    assert request.waits
    assert "client-1" in kit.group.membership


def test_only_the_leader_receives_the_member_list() -> None:
    kit = ClassicKit()
    first, second = kit.joining(2)

    kit.wait(2 * DELAY_MS)

    leader = first.joined.member_id
    members = [
        JoinedMember(request.joined.member_id, None, RANGE[0].metadata)
        for request in (first, second)
    ]
    assert first.joined == JoinAnswer(
        member_id=leader,
        generation=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=leader,
        members=tuple(members),
    )
    assert second.joined.leader == leader
    assert second.joined.members == ()
    assert second.joined.generation == 1


def test_first_rebalance_ends_after_the_initial_delay() -> None:
    kit = ClassicKit()
    [request] = kit.joining(1)

    kit.wait(DELAY_MS - 1)
    assert request.waits
    kit.wait(1)

    assert request.joined.generation == 1


def test_member_that_joins_during_the_initial_delay_restarts_the_delay() -> None:
    kit = ClassicKit()
    [first] = kit.joining(1)
    kit.wait(DELAY_MS - 1)
    [second] = kit.joining(1)

    kit.wait(1)
    assert first.waits
    kit.wait(DELAY_MS)

    assert first.joined.generation == second.joined.generation == 1


def test_initial_delay_is_never_longer_than_the_rebalance_timeout() -> None:
    kit = ClassicKit()
    [first] = kit.joining(1, rebalance_ms=7000)
    for _ in range(7):
        kit.wait(1000)
        kit.joining(1, rebalance_ms=7000)

    assert first.joined.generation == 1
    assert kit.driver.now_ms == 1_000_000 + 7000


def test_earlier_joins_do_not_extend_the_initial_delay_of_a_later_rebalance() -> None:
    kit = ClassicKit()
    kit.joining(1, rebalance_ms=DELAY_MS)
    kit.joining(1, rebalance_ms=DELAY_MS)  # there is no time left to wait for more
    kit.wait(DELAY_MS)
    kit.leave(*[member.member_id for member in kit.group.membership])
    assert kit.state == "Empty"
    [request] = kit.joining(1)

    kit.wait(DELAY_MS)

    assert not request.waits


def test_without_an_initial_delay_the_first_rebalance_ends_at_once() -> None:
    kit = ClassicKit(delay_ms=0)
    [request] = kit.joining(1)

    kit.wait(0)

    assert request.joined.generation == 1


def test_join_with_an_unknown_member_id_is_refused() -> None:
    kit = ClassicKit()

    assert kit.join("ghost").answer == JoinAnswer(
        member_id="ghost", error=ErrorCode.UNKNOWN_MEMBER_ID
    )
    assert kit.state == "none"
    kit.stable(1)
    assert kit.join("ghost").answer == JoinAnswer(
        member_id="ghost", error=ErrorCode.UNKNOWN_MEMBER_ID
    )


@pytest.mark.parametrize(
    ("protocol_type", "protocols"),
    [("consumer", ROUND_ROBIN), ("connect", RANGE), ("consumer", ()), ("", RANGE)],
)
def test_join_without_a_common_protocol_is_refused(
    protocol_type: str, protocols: tuple[GroupProtocol, ...]
) -> None:
    kit = ClassicKit()
    kit.stable(1)

    request = kit.join(protocol_type=protocol_type, protocols=protocols)

    assert request.answer == JoinAnswer(member_id="", error=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


@pytest.mark.parametrize(("protocol_type", "protocols"), [("", RANGE), ("consumer", ())])
def test_join_of_an_empty_group_without_protocol_type_or_protocol_is_refused(
    protocol_type: str, protocols: tuple[GroupProtocol, ...]
) -> None:
    kit = ClassicKit()

    request = kit.join(protocol_type=protocol_type, protocols=protocols)

    assert request.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_empty_group_takes_the_protocol_type_of_the_next_join() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.leave(member)

    kit.joining(1, protocol_type="connect", protocols=ROUND_ROBIN)
    kit.wait(DELAY_MS)

    assert (kit.group.protocol_type, kit.group.protocol_name) == ("connect", "roundrobin")


def test_members_elect_a_protocol_that_all_of_them_support() -> None:
    kit = ClassicKit()
    third = (GroupProtocol("sticky", b""), *ROUND_ROBIN, *RANGE)
    for protocols in (BOTH, third, (*ROUND_ROBIN, *RANGE)):
        kit.joining(1, protocols=protocols)

    kit.wait(2 * DELAY_MS)

    assert kit.group.protocol_name == "roundrobin"


def test_duplicate_protocols_of_a_join_count_once() -> None:
    kit = ClassicKit()

    [member] = kit.stable(1, protocols=(*RANGE, *RANGE))

    assert kit.group.protocol_name == "range"
    assert member in kit.group.membership


def test_repeated_join_while_the_leader_assigns_returns_the_current_generation() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()

    again = kit.join(leader).joined

    assert again.generation == 1
    assert [member.member_id for member in again.members] == [leader, follower]
    assert kit.join(follower).joined.members == ()
    assert kit.state == "CompletingRebalance"


def test_unchanged_rejoin_of_a_follower_causes_no_rebalance() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    again = kit.join(follower).joined

    assert (again.generation, again.leader, again.members) == (1, leader, ())
    assert again.protocol_name == "range"
    assert kit.state == "Stable"
    assert kit.sync(follower).synced == follower.encode()


def test_changed_subscription_of_a_follower_causes_a_rebalance() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    other = (GroupProtocol("range", subscription("t", "u")),)

    changed = kit.join(follower, protocols=other)

    assert changed.waits
    assert kit.beat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
    again = kit.join(leader).joined
    assert again.members[1].metadata == other[0].metadata
    assert changed.joined.generation == 2
    assert kit.group.topics == frozenset("tu")


def test_changed_protocols_of_a_rejoin_count_in_the_next_election() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable(protocols=BOTH)

    kit.join(follower, protocols=ROUND_ROBIN)
    kit.join(leader, protocols=BOTH)

    assert kit.group.protocol_name == "roundrobin"
    assert kit.join(protocols=RANGE).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_rejoin_updates_the_session_and_rebalance_timeouts() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    kit.join(member, session_ms=20_000, rebalance_ms=1234)

    assert kit.driver.timers[("classic-sync", GROUP)] == 1234
    assert kit.driver.timers[("classic-session", GROUP, member)] == 20_000


def test_second_join_of_a_waiting_member_refuses_the_first_join() -> None:
    kit = ClassicKit()
    first, second = kit.stable()
    lost = kit.join(first)

    again = kit.join(first)

    assert lost.answer == JoinAnswer(member_id=first, error=ErrorCode.REBALANCE_IN_PROGRESS)
    assert again.waits
    kit.join(second)
    assert again.joined.generation == 2
    assert kit.group.membership.joined == 0


def test_waiting_join_of_a_new_member_is_refused_after_five_minutes() -> None:
    kit = ClassicKit()
    old = kit.stable(1, rebalance_ms=10 * NEW_MEMBER_TIMEOUT_MS)[0]
    new = kit.join(kit.new_id())

    for _ in range(NEW_MEMBER_TIMEOUT_MS // 5000):
        assert new.waits
        assert kit.beat(old) is ErrorCode.REBALANCE_IN_PROGRESS
        kit.wait(5000)

    assert new.answer == JoinAnswer(member_id="", error=ErrorCode.UNKNOWN_MEMBER_ID)


def test_rebalance_waits_for_a_pending_member_id() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    pending = kit.new_id()
    first = kit.join(leader)

    assert first.waits
    second = kit.join(pending)

    assert first.joined.generation == second.joined.generation == 2


def test_rebalance_ends_when_a_pending_member_id_times_out() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    kit.new_id()
    request = kit.join(leader)

    kit.wait(SESSION_MS)

    assert request.joined.generation == 2


def test_static_join_with_a_pending_member_id_is_refused() -> None:
    kit = ClassicKit()
    member = kit.new_id()

    request = kit.join(member, instance="i")

    assert request.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert kit.group.membership.pending == {member}


def test_full_group_refuses_new_members() -> None:
    kit = ClassicKit(max_size=2)
    members = kit.stable(2)

    request = kit.join()

    assert request.answer == JoinAnswer(member_id="", error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert kit.join(members[1]).code is ErrorCode.NONE
    assert kit.state == "Stable"


def test_full_group_refuses_a_late_old_member_when_enough_joins_wait() -> None:
    kit = ClassicKit(max_size=2)
    first, second = kit.stable(2)
    kit.join(first)  # of two members one has come back
    kit.join(kit.new_id())

    late = kit.join(second)

    assert late.answer == JoinAnswer(member_id="", error=ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert second not in kit.group.membership
    assert kit.state == "CompletingRebalance"


def test_full_group_refuses_a_pending_member_and_forgets_its_id() -> None:
    kit = ClassicKit(max_size=1)
    first, second = kit.new_id(), kit.new_id()
    kit.join(first)

    assert kit.join(second).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert not kit.group.membership.pending


def test_join_of_a_dead_group_is_refused() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))

    assert kit.join().code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert kit.join(member).answer == JoinAnswer(
        member_id=member, error=ErrorCode.COORDINATOR_NOT_AVAILABLE
    )


def test_reason_of_a_join_is_recorded_as_the_cause_of_the_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)

    kit.join(leader, reason="topics have changed")

    assert (
        kit.group.history.rebalances[-1].cause
        == f"leader {leader} joins again (topics have changed)"
    )
    assert [rebalance.generation for rebalance in kit.group.history.rebalances] == [0, 1]


def test_members_that_do_not_rejoin_are_removed_at_the_rebalance_timeout() -> None:
    """Those who live, but do not join."""
    kit = ClassicKit()
    leader, follower = kit.stable()
    request = kit.join(leader)

    for _ in range(REBALANCE_MS // 5000):
        assert request.waits
        kit.beat(follower)
        kit.wait(5000)

    assert [member.member_id for member in request.joined.members] == [leader]
    assert kit.beat(follower) is ErrorCode.UNKNOWN_MEMBER_ID
