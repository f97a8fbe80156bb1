"""Heartbeats, and members that are silent."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.coordinators.groups.classic.kit import GROUP, SESSION_MS, ClassicKit
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.errors import ErrorCode


def test_heartbeats_keep_a_member_alive_until_the_session_timeout() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    for _ in range(10):
        kit.wait(SESSION_MS - 1)
        assert kit.beat(member) is ErrorCode.NONE
    kit.wait(SESSION_MS)

    assert kit.state == "Empty"
    assert kit.beat(member) is ErrorCode.UNKNOWN_MEMBER_ID


def test_session_timeout_of_a_member_causes_a_rebalance_of_the_others() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    kit.wait(SESSION_MS // 2)
    kit.beat(follower)

    kit.wait(SESSION_MS // 2)

    assert kit.beat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    request = kit.join(follower)
    assert request.joined.leader == follower
    assert leader not in kit.group.membership


def test_heartbeats_succeed_while_the_leader_assigns() -> None:
    kit = ClassicKit()
    leader, _ = kit.completing()

    assert kit.beat(leader) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "ghost", "generation": 2}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_heartbeat_with_a_wrong_member_generation_or_instance_is_refused(
    how: Mapping[str, Any], code: ErrorCode
) -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    assert kit.beat(**{"member_id": member, **how}) is code


def test_heartbeat_to_an_unknown_or_dead_group_is_an_error() -> None:
    kit = ClassicKit()

    assert kit.beat("ghost", generation=1) is ErrorCode.UNKNOWN_MEMBER_ID
    [member] = kit.stable(1)
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))
    assert kit.beat(member) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_member_with_a_waiting_join_does_not_time_out() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    request = kit.join(leader)

    for _ in range(5):
        kit.wait(SESSION_MS - 1000)
        kit.beat(follower)

    assert request.waits
    assert leader in kit.group.membership


def test_session_timeout_of_the_last_missing_member_ends_the_rebalance() -> None:
    kit = ClassicKit()
    leader, _ = kit.stable()
    request = kit.join(leader)

    kit.wait(SESSION_MS)

    assert [member.member_id for member in request.joined.members] == [leader]


def test_no_timer_remains_after_the_session_timeout_of_the_last_member() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)

    kit.wait(SESSION_MS)

    assert not [key for key in kit.driver.timers if GROUP in key]
    assert member not in kit.group.membership
