"""Classic groups when their records are read again; timers when groups have changed since."""

import pytest

from tests.coordinators.groups.classic.kit import GROUP, SESSION_MS, ClassicKit
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offsets import EXPIRY
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey
from trio_kafka.testing.machines import MachineDriver


def reloaded(kit: ClassicKit) -> ClassicKit:
    again = ClassicKit()
    again.driver = kit.driver.reload()
    return again


def test_members_keep_generation_and_assignment_after_a_crash() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()

    kit = reloaded(kit)

    assert kit.state == "Stable"
    assert (kit.group.generation, kit.group.leader) == (1, leader)
    assert kit.beat(follower) is ErrorCode.NONE
    assert kit.sync(follower).synced == follower.encode()
    assert kit.group.topics == frozenset("t")


def test_members_that_send_no_heartbeat_after_a_crash_time_out() -> None:
    kit = ClassicKit()
    kit.stable()

    kit = reloaded(kit)
    kit.wait(SESSION_MS)

    assert kit.state == "Empty"


def test_unfinished_rebalance_is_forgotten_after_a_crash() -> None:
    kit = ClassicKit()
    leader, follower = kit.stable()
    kit.join(leader)

    kit = reloaded(kit)

    assert kit.state == "Stable"
    assert kit.beat(follower) is ErrorCode.NONE
    assert kit.join(leader).waits


@pytest.mark.parametrize(("size", "state"), [(3, "PreparingRebalance"), (2, "Stable")])
def test_loaded_group_above_the_maximum_size_rebalances(size: int, state: str) -> None:
    kit = ClassicKit()
    kit.stable(size)
    settings = GroupSettings(max_size=2)

    def make() -> Groups:
        groups = Groups([ClassicGroups], simple=simple_group, settings=settings)
        for record in kit.driver.records:
            groups.replay(record)
        return groups

    driver = MachineDriver(make)

    assert driver.machine.by_id[GROUP].state == state


def test_tombstone_removes_the_group() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.leave(member)

    kit.driver.apply(lambda groups, _: Effects(records=groups.by_id[GROUP].tombstones()))

    assert kit.state == "none"
    assert reloaded(kit).state == "none"


def test_classic_tombstone_does_not_remove_a_group_of_another_type() -> None:
    """An upgrade writes it after the group has become a consumer group."""
    kit = ClassicKit()
    other = object()
    kit.driver.machine.by_id[GROUP] = other  # type: ignore[assignment]

    kit.driver.machine.replay(CoordinatorRecord(GroupMetadataKey(GROUP)))

    assert kit.driver.machine.by_id[GROUP] is other


def test_timers_of_a_removed_group_do_nothing() -> None:
    kit = ClassicKit()
    kit.join(version=3)
    del kit.driver.machine.by_id[GROUP]

    kit.wait(2 * 300_000)

    assert kit.state == "none"


def test_a_simple_group_is_empty_and_has_no_record() -> None:
    group = simple_group("g")

    assert isinstance(group, ClassicGroup)
    assert group.is_simple
    assert group.is_empty
    assert (group.type, group.protocol_type) == ("classic", "")


@pytest.mark.parametrize("phase", ["joining", "completing", "stable"])
def test_group_with_members_does_not_expire(phase: str) -> None:
    kit = ClassicKit()
    getattr(kit, phase)(1)
    before = kit.state

    kit.driver.apply(lambda groups, now_ms: groups.timer((EXPIRY,), now_ms))

    assert kit.state == before


def test_an_empty_group_without_offsets_expires() -> None:
    kit = ClassicKit()
    [member] = kit.stable(1)
    kit.leave(member)
    expected = kit.new_id()  # somebody who is only expected does not keep it

    kit.driver.apply(lambda groups, now_ms: groups.timer((EXPIRY,), now_ms))

    assert kit.state == "none"
    assert kit.join(expected).code is ErrorCode.UNKNOWN_MEMBER_ID
    kit.wait(SESSION_MS)
    assert reloaded(kit).state == "none"
