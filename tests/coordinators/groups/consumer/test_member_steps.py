"""Steps that members of both protocols take: static members come back, epochs are planned."""

from tests.coordinators.groups.consumer.kit import GROUP, UNKNOWN, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.member_steps import Plan, Target
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.stored.groups.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberKey,
)


def test_plans_and_targets_compare_by_value() -> None:
    assert Plan(3, homogeneous=True) == Plan(3, True)
    assert Target(3, {}) == Target(3, {})


def test_join_with_an_instance_id_in_use_is_refused() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")
    message = (
        "Static member m2 with instance id i cannot join the group because the instance id is "
        "owned by m1 member."
    )

    with refusal(ErrorCode.UNRELEASED_INSTANCE_ID, message):
        scene.join("m2", "a", instance_id="i")


def test_returning_static_member_gets_its_former_partitions() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a", instance_id="i")
    scene.join("m2", "a")
    scene.settle()
    had = scene.has("m1")
    epoch = scene.group.epoch

    answer = scene.leave("m1", epoch=-2, instance_id="i")
    assert (answer.member_id, answer.epoch) == ("m1", -2)
    assert scene.group.by_id["m1"].epoch == -2
    assert scene.has("m1") == had
    written = len(scene.driver.log)
    back = scene.join("m3", "a", instance_id="i")

    assert scene.has("m3") == had
    assert back.assignment == scene.owned["m3"]
    assert "m1" not in scene.group.by_id
    assert (scene.group.epoch, back.epoch) == (epoch, epoch)
    assert scene.group.state == "Stable"
    assert [type(record.key) for record in scene.driver.records[written:]] == [
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentKey,
    ]
    assert scene.driver.reload().machine.group(GROUP).state == "Stable"


def test_requests_under_the_old_id_of_a_replaced_static_member_are_fenced() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a", instance_id="i")
    scene.leave("m1", epoch=-2, instance_id="i")
    scene.join("m3", "a", instance_id="i")
    message = "Static member m1 with instance id i was fenced by member m3."

    with refusal(ErrorCode.FENCED_INSTANCE_ID, message):
        scene.beat("m1", epoch=2, instance_id="i")
    with refusal(ErrorCode.FENCED_INSTANCE_ID, message):
        scene.leave("m1", instance_id="i")
    with refusal(UNKNOWN):
        scene.beat("m1", epoch=2)


def test_static_member_can_return_with_another_subscription() -> None:
    scene = Scene({"a": 2, "b": 2})
    scene.join("m1", "a", instance_id="i")
    scene.leave("m1", epoch=-2, instance_id="i")

    scene.join("m3", "b", instance_id="i")

    assert scene.has("m3") == {"b": [0, 1]}


def test_static_member_that_leaves_temporarily_releases_partitions_to_be_revoked() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a", instance_id="i")
    scene.join("m2", "a")
    scene.beat("m1", instance_id="i")
    assert scene.group.by_id["m1"].revoking

    scene.leave("m1", epoch=-2, instance_id="i")
    scene.beat("m2")

    assert scene.has("m2") == {"a": [2, 3]}
    scene.join("m3", "a", instance_id="i")
    assert scene.has("m3") == {"a": [0, 1]}


def test_static_member_that_does_not_return_within_its_session_is_removed() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")
    scene.join("m2", "a")
    scene.settle()
    scene.leave("m1", epoch=-2, instance_id="i")

    for _ in range(12):
        scene.wait(4_000)
        scene.say_owned("m2")

    assert list(scene.group.by_id) == ["m2"]
    assert scene.group.statics == {}
    assert scene.has("m2") == {"a": [0, 1]}


def test_subscription_metadata_of_old_brokers_is_deleted_by_a_tombstone() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    key = ConsumerGroupPartitionMetadataKey(GROUP)
    value = ConsumerGroupPartitionMetadataValue()
    scene.driver.machine.replay(CoordinatorRecord(key, value))

    scene.join("m2", "a")

    assert [record.value for record in scene.driver.records if record.key == key] == [None]
    assert not scene.group.has_subscription_metadata
    assert scene.group.targets["m1"] == {topic_id("a"): {0}}
