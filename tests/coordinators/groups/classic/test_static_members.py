"""Static members: they come back under another id, and whoever used the old one is fenced."""

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
)
from trio_kafka.coordinators.groups.classic.values import JoinAnswer
from trio_kafka.errors import ErrorCode, KafkaError


def test_returning_static_follower_causes_no_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    follower = kit.add_static(leader, "i")

    back = kit.join(instance="i").joined

    assert (back.error, back.generation, back.leader) == (ErrorCode.NONE, 2, leader)
    assert (back.members, back.skip_assignment) == ((), False)
    assert back.member_id != follower
    assert kit.state == "Stable"
    assert kit.sync(back.member_id, instance="i").synced == follower.encode()
    assert kit.beat(leader) is ErrorCode.NONE


def test_new_member_id_of_a_returning_static_member_is_stored() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    new = kit.join(instance="i").joined.member_id

    [member] = kit.driver.records[-1].value.members
    assert (member.member_id, member.group_instance_id) == (new, "i")
    assert bytes(member.assignment) == old.encode()
    assert kit.driver.reload().machine.by_id[GROUP].membership.of_instance("i") == new  # type: ignore[attr-defined]


def test_member_id_of_a_static_member_begins_with_its_instance_id() -> None:
    kit = ClassicKit()

    assert kit.stable_static("i").startswith("i-")


def test_returning_static_leader_is_asked_to_skip_the_assignment() -> None:
    kit = ClassicKit()
    kit.stable_static("i")

    back = kit.join(instance="i").joined

    assert back.leader == back.member_id
    assert back.skip_assignment
    assert [member.instance_id for member in back.members] == ["i"]


def test_returning_static_leader_of_an_old_version_sees_its_old_id_as_leader() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    back = kit.join(instance="i", version=8).joined

    assert (back.leader, back.members, back.skip_assignment) == (old, (), False)
    assert kit.group.leader == back.member_id


def test_requests_under_the_old_id_of_a_static_member_are_fenced() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    kit.join(instance="i")

    assert kit.beat(old, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    assert kit.sync(old, instance="i").code is ErrorCode.FENCED_INSTANCE_ID
    assert kit.join(old, instance="i").answer == JoinAnswer(
        member_id=old, error=ErrorCode.FENCED_INSTANCE_ID
    )
    assert kit.beat(old) is ErrorCode.UNKNOWN_MEMBER_ID
    assert ("classic-session", GROUP, old) not in kit.driver.timers


def test_waiting_join_under_the_old_id_of_a_static_member_is_fenced() -> None:
    kit = ClassicKit()
    lost = kit.join(instance="i")
    [old] = [member.member_id for member in kit.group.membership]

    again = kit.join(instance="i")

    assert lost.answer == JoinAnswer(member_id=old, error=ErrorCode.FENCED_INSTANCE_ID)
    kit.wait(DELAY_MS)
    assert again.joined.generation == 1


def test_static_member_that_returns_while_its_first_join_waits_outlives_its_session() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1, rebalance_ms=6 * SESSION_MS)
    kit.join(instance="i", rebalance_ms=6 * SESSION_MS)

    again = kit.join(instance="i", rebalance_ms=6 * SESSION_MS)
    for _ in range(6):
        kit.wait(SESSION_MS // 2)
        kit.beat(leader)

    assert again.waits
    kit.join(leader, rebalance_ms=6 * SESSION_MS)
    assert again.joined.error is ErrorCode.NONE


def test_waiting_sync_under_the_old_id_is_fenced_and_a_rebalance_begins() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    static = kit.join(instance="i")
    kit.join(leader)
    waiting = kit.sync(static.joined.member_id, instance="i")

    again = kit.join(instance="i")

    assert waiting.code is ErrorCode.FENCED_INSTANCE_ID
    assert kit.state == "PreparingRebalance"
    kit.join(leader)
    assert again.joined.generation == 3


def test_static_member_that_returns_and_syncs_in_time_causes_no_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    kit.join(instance="i", session_ms=2 * REBALANCE_MS)
    kit.join(leader)
    kit.sync(leader, {})
    assert kit.state == "Stable"
    back = kit.join(instance="i", session_ms=2 * REBALANCE_MS).joined
    kit.sync(back.member_id, instance="i")

    for _ in range(REBALANCE_MS // 5000):
        kit.wait(5000)
        assert kit.beat(leader) is ErrorCode.NONE

    assert kit.group.generation == 2


def test_static_member_that_returns_without_a_sync_is_removed_with_a_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    kit.join(instance="i", session_ms=2 * REBALANCE_MS)
    kit.join(leader)
    kit.sync(leader, {})
    back = kit.join(instance="i", session_ms=2 * REBALANCE_MS).joined

    for _ in range(REBALANCE_MS // 5000):
        kit.wait(5000)
        kit.beat(leader)

    assert kit.state == "PreparingRebalance"
    assert kit.beat(back.member_id, instance="i") is ErrorCode.UNKNOWN_MEMBER_ID


def test_returning_static_member_that_changes_the_elected_protocol_causes_a_rebalance() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1, protocols=BOTH)
    kit.add_static(leader, "i", protocols=BOTH)

    back = kit.join(instance="i", protocols=ROUND_ROBIN)

    assert back.waits
    assert kit.state == "PreparingRebalance"
    kit.join(leader, protocols=BOTH)
    assert back.joined.protocol_name == "roundrobin"


def test_static_member_keeps_its_old_id_when_the_record_is_refused() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i", protocols=BOTH, session_ms=7000)
    kit.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    back = kit.join(instance="i", protocols=RANGE, session_ms=SESSION_MS)

    assert back.answer == JoinAnswer(
        member_id="",
        error=ErrorCode.COORDINATOR_NOT_AVAILABLE,
        generation=1,
        protocol_type="consumer",
        protocol_name="range",
        leader=old,
    )
    member = kit.group.membership[old]
    assert (member.protocols, member.session_timeout_ms) == (BOTH, 7000)
    assert kit.group.leader == old
    assert kit.group.membership.of_instance("i") == old
    assert [key[2] for key in kit.driver.timers if key[0] == "classic-session"] == [old]
    kit.driver.refuse = None
    assert kit.beat(old, instance="i") is ErrorCode.NONE


def test_absent_static_member_stays_in_the_new_generation() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    static = kit.add_static(leader, "i", session_ms=200_000)
    request = kit.join(leader)

    kit.wait(60_000)

    assert [member.member_id for member in request.joined.members] == [leader, static]


def test_rebalance_with_only_absent_static_members_restarts_its_timer() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1, session_ms=50_000)
    static = kit.add_static(leader, "i", session_ms=200_000, rebalance_ms=60_000)
    kit.join(kit.new_id())
    kit.leave(*[m.member_id for m in kit.group.membership if not m.is_static])

    kit.wait(60_000)
    assert kit.state == "PreparingRebalance"
    assert kit.driver.timers[kit.group.join_timer] == 60_000, "not for ever"
    back = kit.join(static, instance="i")

    assert back.joined.leader == static


@pytest.mark.parametrize("phase", ["Stable", "CompletingRebalance"])
def test_returning_static_member_keeps_its_position(phase: str) -> None:
    kit = ClassicKit()
    first = kit.stable_static("a")
    kit.add_static(first, "b", leader_instance="a")
    if phase == "CompletingRebalance":
        kit.join(first, instance="a")
        kit.join(kit.group.membership.of_instance("b") or "", instance="b")

    kit.join(instance="a")

    assert [member.instance_id for member in kit.group.membership] == ["a", "b"]
