"""State that consumer groups of one shard share."""

from tests.coordinators.groups.consumer.kit import Scene, refusal
from trio_kafka.coordinators.groups.consumer.heartbeat import open_group
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.errors import ErrorCode


def test_shard_without_consumer_groups_raises_unsupported_version() -> None:
    bare = Groups(simple=Scene().state.new)

    with refusal(ErrorCode.UNSUPPORTED_VERSION):
        ConsumerShardState.of(bare)


def test_lookup_of_an_unknown_or_other_group_type_raises_group_id_not_found() -> None:
    scene = Scene({"a": 1})
    scene.driver.machine.group_or_simple("simple")

    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group x not found."):
        scene.state.existing("x")
    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group simple is not a consumer group."):
        scene.state.existing("simple")
    assert open_group(scene.state, "x", 0).group.is_empty
    assert "x" not in scene.driver.machine.by_id
