"""SyncGroup: assignments reach the members when they are stored."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.coordinators.groups.classic.kit import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    ClassicKit,
)
from trio_kafka.coordinators.groups.classic.transition import end_group
from trio_kafka.coordinators.groups.classic.values import SyncAnswer
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataValue


def test_sync_of_a_follower_waits_for_the_assignment_of_the_leader() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    assert waiting.waits

    own = kit.sync(leader, {leader: b"one", follower: b"two"})

    assert own.answer == SyncAnswer(
        protocol_type="consumer", protocol_name="range", assignment=b"one"
    )
    assert waiting.synced == b"two"
    assert kit.state == "Stable"


def test_sync_after_the_leader_is_answered_at_once() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    kit.sync(leader, {follower: b"two"})

    assert kit.sync(follower).synced == b"two"
    assert kit.sync(leader).synced == b""
    assert ("classic-sync", GROUP) not in kit.driver.timers


def test_the_generation_is_stored_with_all_assignments() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()

    kit.sync(leader, {leader: b"one", "ghost": b"three"})

    value = kit.driver.records[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert (value.generation, value.protocol, value.leader) == (1, "range", leader)
    assert {member.member_id: bytes(member.assignment) for member in value.members} == {
        leader: b"one",
        follower: b"",
    }


def test_syncs_are_answered_after_the_assignment_is_committed() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    kit.driver.hold = True

    own = kit.sync(leader, {leader: b"one"})
    assert own.waits
    assert kit.state == "CompletingRebalance"
    kit.driver.commit()

    assert (own.synced, waiting.synced) == (b"one", b"")
    assert kit.state == "Stable"


def test_rebalance_before_the_commit_discards_the_assignment() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    kit.driver.hold = True
    own = kit.sync(leader, {leader: b"one"})

    kit.leave(follower)
    kit.driver.commit()

    assert own.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert kit.state == "PreparingRebalance"
    assert kit.group.membership[leader].assignment == b""


def test_commit_of_an_earlier_generation_does_not_make_a_later_generation_stable() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    kit.driver.hold = True
    kit.sync(leader, {leader: b"one"})
    kit.join(version=3)
    kit.join(leader)
    kit.join(follower)
    assert kit.group.generation == 2

    kit.driver.commit()

    assert kit.state == "CompletingRebalance"


def test_refused_record_of_a_sync_causes_a_rebalance() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    waiting = kit.sync(follower)
    code = ErrorCode.NOT_COORDINATOR
    kit.driver.refuse = KafkaError(code)

    own = kit.sync(leader, {leader: b"one"})

    assert (own.code, waiting.code) == (code, code)
    assert kit.state == "PreparingRebalance"
    kit.driver.refuse = None
    kit.join(leader)
    kit.join(follower)
    kit.settle([leader, follower])
    assert kit.group.generation == 2


def test_sync_during_a_rebalance_is_refused() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    kit.join(leader)

    assert kit.sync(follower).code is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"member_id": "ghost"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol_name": "range"}, ErrorCode.NONE),
        # The first thing that is wrong is what is said.
        ({"member_id": "ghost", "generation": 7}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_name": "sticky", "generation": 7}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_sync_with_a_wrong_member_generation_or_protocol_is_refused(
    how: Mapping[str, Any], code: ErrorCode
) -> None:
    kit = ClassicKit()
    leader, _ = kit.stable()

    assert kit.sync(**{"member_id": leader, **how}).code is code


def test_sync_before_a_protocol_is_elected_is_refused_with_rebalance_in_progress() -> None:
    kit = ClassicKit()
    member = kit.new_id()
    assert kit.join(member).waits

    request = kit.sync(member, generation=0, protocol_type="consumer", protocol_name="sticky")

    assert request.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_sync_with_an_empty_or_unknown_group_is_refused() -> None:
    kit = ClassicKit()

    assert kit.sync("ghost", generation=1).code is ErrorCode.UNKNOWN_MEMBER_ID
    member = kit.new_id()
    assert kit.sync(member, generation=0).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_sync_with_a_dead_group_is_refused() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.driver.apply(lambda _, now_ms: end_group(kit.group, ErrorCode.NOT_COORDINATOR, now_ms))

    assert kit.sync(member).code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_second_sync_of_a_waiting_member_refuses_the_first_sync() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    lost = kit.sync(follower)

    again = kit.sync(follower)

    assert lost.code is ErrorCode.REBALANCE_IN_PROGRESS
    kit.sync(leader, {follower: b"two"})
    assert again.synced == b"two"


def test_assignment_restarts_the_session_timeout_of_a_waiting_follower() -> None:
    kit = ClassicKit()
    leader, follower = kit.completing()
    kit.sync(follower)
    for _ in range(3):  # it is silent while it waits
        kit.wait(SESSION_MS // 2)
        kit.beat(leader)

    kit.sync(leader, {})

    assert follower in kit.group.membership
    assert kit.driver.timers[("classic-session", GROUP, follower)] == SESSION_MS


def test_member_without_a_sync_before_the_rebalance_timeout_is_removed() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    follower = kit.new_id()
    kit.join(leader)
    kit.join(follower)
    kit.sync(leader, {})
    assert kit.state == "Stable"

    for _ in range(REBALANCE_MS // 5000):
        assert follower in kit.group.membership
        kit.beat(follower)
        kit.beat(leader)
        kit.wait(5000)

    assert follower not in kit.group.membership
    assert kit.group.session_timer(follower) not in kit.driver.timers
    assert kit.state == "PreparingRebalance"
    assert kit.beat(leader) is ErrorCode.REBALANCE_IN_PROGRESS
