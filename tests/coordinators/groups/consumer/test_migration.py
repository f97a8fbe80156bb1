"""Upgrades and downgrades that each value of `group.consumer.migration.policy` allows a group."""

import pytest

from tests.coordinators.groups.consumer.classic import Member, classic_group, stable_classic
from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal
from trio_kafka.config.load import broker_config
from trio_kafka.coordinators.groups.settings import group_settings
from trio_kafka.errors import ErrorCode

POLICIES = pytest.mark.parametrize(
    ("policy", "upgrades", "downgrades"),
    [
        ("disabled", False, False),
        ("upgrade", True, False),
        ("downgrade", False, True),
        ("bidirectional", True, True),
    ],
)


@POLICIES
def test_classic_group_is_upgraded_only_if_the_policy_allows_upgrades(
    policy: str, upgrades: bool, downgrades: bool
) -> None:
    del downgrades
    scene = Scene({"a": 2}, consumer_migration_policy=policy)
    member = Member(scene, ["a"])
    stable_classic(scene, member, assignments=[{"a": [0, 1]}])

    if not upgrades:
        with refusal(ErrorCode.GROUP_ID_NOT_FOUND):
            scene.join("new", "a")
        assert member.beat() is ErrorCode.NONE
        return
    scene.join("new", "a")

    assert scene.group.classic == 1
    assert scene.has(member.member_id) == {"a": [0, 1]}


@POLICIES
def test_consumer_group_is_downgraded_only_if_the_policy_allows_downgrades(
    policy: str, upgrades: bool, downgrades: bool
) -> None:
    del upgrades
    scene = Scene({"a": 2})
    scene.join("new", "a")
    classic_member = Member(scene, ["a"])
    classic_member.join(asks_for_id=False)
    scene.driver.machine.settings = Scene(consumer_migration_policy=policy).settings

    scene.leave("new")

    if downgrades:
        assert [member.member_id for member in classic_group(scene).membership] == [
            classic_member.member_id
        ]
    else:
        assert scene.group.by_id.keys() == {classic_member.member_id}
    kept = scene.driver.reload().machine.group(GROUP)
    assert kept.type == ("classic" if downgrades else "consumer")


@pytest.mark.parametrize("policy", ["upgrade", "downgrade", "bidirectional"])
def test_classic_members_join_a_consumer_group_unless_migration_is_disabled(policy: str) -> None:
    scene = Scene({"a": 2}, consumer_migration_policy=policy)
    scene.join("new", "a")

    Member(scene, ["a"]).join(asks_for_id=False)

    assert scene.group.classic == 1


@POLICIES
def test_migration_policy_setting_is_case_insensitive(
    policy: str, upgrades: bool, downgrades: bool
) -> None:
    del upgrades, downgrades
    config = broker_config({"group.consumer.migration.policy": policy.upper()})

    assert group_settings(config).consumer_migration_policy == policy


def test_downgraded_group_without_a_current_assignment_continues_from_its_group_epoch() -> None:
    scene = Scene({"a": 4})
    member = Member(scene, ["a"])
    scene.join("new", "a")
    scene.join("new2", "a")
    member.join(asks_for_id=False)
    scene.leave("new2")
    epoch = scene.group.epoch
    assert epoch > scene.group.assignment_epoch

    scene.leave("new")

    assert classic_group(scene).generation == epoch
