"""Consumer groups of one shard: who is found, who is told of topics, what is due."""

import pytest

from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.transition import REGEX, SESSION
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.stored.metadata.topics import PartitionChangeRecord


def test_heartbeat_does_not_replace_a_group_of_another_type() -> None:
    scene = Scene({"a": 1})

    class Share:
        type = "share"

    scene.driver.machine.by_id[GROUP] = Share()  # type: ignore[assignment]

    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group."):
        scene.join("m1", "a")


def test_group_with_only_offsets_becomes_a_consumer_group_by_a_heartbeat() -> None:
    scene = Scene({"a": 1})
    scene.driver.machine.group_or_simple(GROUP)

    assert scene.join("m1", "a").epoch == 2
    assert scene.group.type == "consumer"


@pytest.mark.parametrize("change", ["created", "grown", "deleted"])
def test_topic_change_refreshes_only_groups_subscribed_to_the_topic(change: str) -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("m1", "a", "new")
    scene.beat("m1")
    assert scene.state.hashes.keys() == {"a"}

    scene.create(b=2)
    assert not scene.group.needs_refresh(scene.driver.now_ms)
    match change:
        case "created":
            scene.create(new=1)
        case "grown":
            scene.create(a=2)
        case "deleted":
            scene.delete("a")
    assert scene.group.needs_refresh(scene.driver.now_ms)
    assert ("a" in scene.state.hashes) is (change == "created")


def test_irrelevant_topic_change_does_not_bump_the_group_epoch() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    scene.beat("m1")
    epoch = scene.group.epoch

    scene.change([PartitionChangeRecord(partition_id=0, topic_id=topic_id("a"), isr=[1])])
    scene.beat("m1")

    assert scene.group.epoch == epoch
    assert not scene.group.needs_refresh(scene.driver.now_ms)


def test_version_of_new_topics_is_the_offset_of_their_metadata_image() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    first = scene.state.new_topics_version

    scene.create(a=2)
    assert scene.state.new_topics_version == first
    scene.create(b=1)
    assert scene.state.new_topics_version == scene.image.offset > first
    scene.create(a=3)
    assert scene.driver.reload().machine.image is scene.image
    scene.driver = scene.driver.reload()
    assert scene.state.new_topics_version == scene.image.offset


def test_timers_of_a_removed_group_have_no_effect() -> None:
    scene = Scene({"a": 1})

    for key in ((SESSION, "x", "m"), (REGEX, "x")):
        effects = scene.submachine.timer(key, 0)
        assert effects.records == []  # type: ignore[union-attr]


def test_loading_sets_session_timers_only_for_consumer_groups() -> None:
    scene = Scene({"a": 1})
    scene.driver.machine.group_or_simple("simple")
    scene.join("m1", "a")

    assert [key for key in scene.driver.reload().timers if key[0] == SESSION] == [
        (SESSION, GROUP, "m1")
    ]


def test_settings_of_a_group_override_settings_of_the_broker() -> None:
    scene = Scene({"a": 1})
    own = Scene(consumer_session_timeout_ms=50_000, consumer_heartbeat_interval_ms=7_000)
    scene.driver.machine.own_settings = {GROUP: own.settings}

    answer = scene.join("m1", "a")

    assert answer.heartbeat_interval_ms == 7_000
    assert scene.due[SESSION, GROUP, "m1"] == 50_000
