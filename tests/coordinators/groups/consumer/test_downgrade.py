"""A consumer group becomes classic when only classic members are left."""

import pytest

from tests.coordinators.groups.consumer.classic import Member, classic_group
from tests.coordinators.groups.consumer.kit import GROUP, SESSION_MS, Scene, refusal
from trio_kafka.coordinators.groups.consumer.downgrade import (
    can_go_on_classic,
    can_replace_classic,
)
from trio_kafka.coordinators.groups.consumer.transition import Transition
from trio_kafka.errors import ErrorCode, KafkaError

REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS


def mixed(scene: Scene, **said: str) -> Member:
    """A consumer group of `new`, and of one classic member."""
    scene.join("new", "a", **said)
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.sync()
    for _ in range(3):
        scene.say_owned("new")
        member.live()
    assert scene.group.state == "Stable"
    return member


def test_group_becomes_classic_and_rebalances_when_its_last_kip_848_member_leaves() -> None:
    scene = Scene({"a": 4})
    member = mixed(scene)
    epoch = scene.group.epoch
    had = member.has

    scene.leave("new")

    group = classic_group(scene)
    assert (group.state, group.generation, group.leader) == (
        "PreparingRebalance",
        epoch,
        member.member_id,
    )
    assert group.protocol_name == "range"
    assert group.topics == {"a"}
    assert scene.due == {}
    assert had == {"a": [2, 3]}
    assert member.beat() is REBALANCE
    joined = member.answer(member.ask_join())
    assert (joined.generation, joined.leader) == (epoch + 1, member.member_id)


def test_downgraded_group_keeps_its_assignments_after_a_restart() -> None:
    scene = Scene({"a": 4})
    member = mixed(scene)
    scene.leave("new")

    scene.driver = scene.driver.reload()

    group = classic_group(scene)
    assert group.state == "Stable"
    assert next(iter(group.membership)).member_id == member.member_id
    assert member.sync() == {"a": [2, 3]}


def test_fencing_the_last_kip_848_member_downgrades_the_group() -> None:
    scene = Scene({"a": 4})
    member = mixed(scene)

    for _ in range(5):
        scene.wait(SESSION_MS // 5)
        member.beat()

    assert classic_group(scene).type == "classic"


@pytest.mark.parametrize("policy", ["disabled", "upgrade"])
def test_migration_policy_can_forbid_the_downgrade(policy: str) -> None:
    scene = Scene({"a": 4})
    member = mixed(scene)
    scene.driver.machine.settings = Scene(consumer_migration_policy=policy).settings

    scene.leave("new")

    assert scene.group.type == "consumer"
    scene.driver.machine.settings = scene.settings
    member.live()
    assert member.has == {"a": [0, 1, 2, 3]}


def test_group_above_the_maximum_size_of_classic_groups_is_not_downgraded() -> None:
    scene = Scene({"a": 4}, max_size=1)
    first = mixed(scene)
    second = Member(scene, ["a"])
    second.join(asks_for_id=False, fresh="two")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)
    new = scene.group.by_id["new"]

    assert not can_go_on_classic(transition, [new])
    assert not can_go_on_classic(transition, [])
    assert not can_go_on_classic(transition, scene.group.members())
    assert not can_replace_classic(transition, new)
    second.leave()
    assert can_go_on_classic(transition, [new])
    assert not can_replace_classic(transition, scene.group.by_id[first.member_id])


def test_classic_member_that_replaces_the_last_kip_848_member_keeps_its_partitions() -> None:
    scene = Scene({"a": 4})
    first = mixed(scene, instance_id="i")
    epoch = scene.group.epoch
    scene.leave("new", epoch=-2, instance_id="i")
    second = Member(scene, ["a"], instance="i")

    joined = second.join(fresh="two")

    group = classic_group(scene)
    assert (group.state, group.generation) == ("Stable", epoch)
    assert (joined.generation, joined.member_id) == (epoch, "two")
    assert second.sync() == {"a": [0, 1]}
    assert first.beat() is ErrorCode.NONE
    assert second.beat() is ErrorCode.NONE
    again = scene.driver.reload().machine
    assert again.group(GROUP).type == "classic"


def test_classic_member_replaces_a_static_kip_848_member_that_has_not_left() -> None:
    scene = Scene({"a": 4})
    mixed(scene, instance_id="i")

    Member(scene, ["a"], instance="i").join(fresh="two")

    assert classic_group(scene).state == "Stable"


def test_replacing_classic_member_with_another_subscription_causes_a_rebalance() -> None:
    scene = Scene({"a": 4, "b": 1})
    member = mixed(scene, instance_id="i")

    Member(scene, ["b"], instance="i").join(fresh="two")

    assert classic_group(scene).state == "PreparingRebalance"
    assert member.beat() is REBALANCE


def test_group_stays_a_consumer_group_when_its_downgrade_records_are_refused() -> None:
    scene = Scene({"a": 4})
    member = mixed(scene)
    before = scene.group
    scene.driver.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with refusal(ErrorCode.NOT_ENOUGH_REPLICAS):
        scene.leave("new", epoch=-1)
    scene.driver.refuse = None

    assert scene.group is before
    assert member.beat() is ErrorCode.NONE
    assert len(scene.due) == 2
    assert all("classic" not in str(key[0]) for key in scene.driver.timers)
