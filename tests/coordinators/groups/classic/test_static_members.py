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
from trio_kafka.coordinators.groups.classic.values import Joined
from trio_kafka.errors import ErrorCode, KafkaError


def test_a_static_member_that_is_back_disturbs_nobody() -> None:
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


def test_its_new_id_is_stored() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    new = kit.join(instance="i").joined.member_id

    [member] = kit.driver.records[-1].value.members
    assert (member.member_id, member.group_instance_id) == (new, "i")
    assert bytes(member.assignment) == old.encode()
    assert kit.driver.reload().machine.by_id[GROUP].membership.of_instance("i") == new  # type: ignore[attr-defined]


def test_its_ids_begin_with_its_instance() -> None:
    kit = ClassicKit()

    assert kit.stable_static("i").startswith("i-")


def test_a_leader_that_is_back_need_not_assign() -> None:
    kit = ClassicKit()
    kit.stable_static("i")

    back = kit.join(instance="i").joined

    assert back.leader == back.member_id
    assert back.skip_assignment
    assert [member.instance_id for member in back.members] == ["i"]


def test_a_leader_of_an_old_version_takes_itself_for_a_follower() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    back = kit.join(instance="i", version=8).joined

    assert (back.leader, back.members, back.skip_assignment) == (old, (), False)
    assert kit.group.leader == back.member_id


def test_whoever_uses_the_old_id_is_fenced() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i")

    kit.join(instance="i")

    assert kit.beat(old, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    assert kit.sync(old, instance="i").code is ErrorCode.FENCED_INSTANCE_ID
    assert kit.join(old, instance="i").answer == Joined(
        member_id=old, error=ErrorCode.FENCED_INSTANCE_ID
    )
    assert kit.beat(old) is ErrorCode.UNKNOWN_MEMBER_ID
    assert ("classic-session", GROUP, old) not in kit.driver.timers


def test_a_join_that_waits_under_the_old_id_is_fenced() -> None:
    kit = ClassicKit()
    lost = kit.join(instance="i")
    [old] = [member.member_id for member in kit.group.membership]

    again = kit.join(instance="i")

    assert lost.answer == Joined(member_id=old, error=ErrorCode.FENCED_INSTANCE_ID)
    kit.wait(DELAY_MS)
    assert again.joined.generation == 1


def test_a_sync_that_waits_under_the_old_id_is_fenced_and_all_join_again() -> None:
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


def test_one_that_is_back_before_it_has_synced_is_not_missed() -> None:
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


def test_one_that_is_back_and_does_not_sync_either_is_missed() -> None:
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


def test_another_choice_of_protocol_has_all_join() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1, protocols=BOTH)
    kit.add_static(leader, "i", protocols=BOTH)

    back = kit.join(instance="i", protocols=ROUND_ROBIN)

    assert back.waits
    assert kit.state == "PreparingRebalance"
    kit.join(leader, protocols=BOTH)
    assert back.joined.protocol_name == "roundrobin"


def test_a_refused_record_leaves_the_member_as_it_was() -> None:
    kit = ClassicKit()
    old = kit.stable_static("i", protocols=BOTH, session_ms=7000)
    kit.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    back = kit.join(instance="i", protocols=RANGE, session_ms=SESSION_MS)

    assert back.answer == Joined(
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


def test_static_members_are_kept_while_they_are_away() -> None:
    kit = ClassicKit()
    [leader] = kit.stable(1)
    static = kit.add_static(leader, "i", session_ms=200_000)
    asked = kit.join(leader)

    kit.wait(60_000)

    assert [member.member_id for member in asked.joined.members] == [leader, static]


def test_nobody_but_static_members_who_are_away_waits_for_them_again() -> None:
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
def test_the_place_in_the_group_stays(phase: str) -> None:
    kit = ClassicKit()
    first = kit.stable_static("a")
    kit.add_static(first, "b", leader_instance="a")
    if phase == "CompletingRebalance":
        kit.join(first, instance="a")
        kit.join(kit.group.membership.of_instance("b") or "", instance="b")

    kit.join(instance="a")

    assert [member.instance_id for member in kit.group.membership] == ["a", "b"]
