"""Consumer groups of one shard: who is found, who is told of topics, what is due."""

import pytest

from tests.coordinators.groups.consumer.kit import GROUP, Scene, refusal, topic_id
from trio_kafka.coordinators.groups.consumer.transition import REGEX, SESSION
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.stored.metadata.topics import PartitionChangeRecord


def test_a_group_of_yet_another_kind_does_not_make_room() -> None:
    scene = Scene({"a": 1})

    class Share:
        type = "share"

    scene.driver.machine.by_id[GROUP] = Share()  # type: ignore[assignment]

    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group."):
        scene.join("m1", "a")


def test_a_group_that_only_had_offsets_makes_room() -> None:
    scene = Scene({"a": 1})
    scene.driver.machine.known(GROUP)

    assert scene.join("m1", "a").epoch == 2
    assert scene.group.type == "consumer"


@pytest.mark.parametrize("change", ["created", "grown", "deleted"])
def test_only_groups_that_read_a_topic_look_at_it_again(change: str) -> None:
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


def test_a_change_that_is_none_for_the_group_gives_no_epoch() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    scene.beat("m1")
    epoch = scene.group.epoch

    scene.change([PartitionChangeRecord(partition_id=0, topic_id=topic_id("a"), isr=[1])])
    scene.beat("m1")

    assert scene.group.epoch == epoch
    assert not scene.group.needs_refresh(scene.driver.now_ms)


def test_the_newest_topic_is_remembered_by_its_image() -> None:
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


def test_what_is_due_for_a_group_that_is_gone_is_nothing() -> None:
    scene = Scene({"a": 1})

    for key in ((SESSION, "x", "m"), (REGEX, "x")):
        effects = scene.submachine.timer(key, 0)
        assert effects.records == []  # type: ignore[union-attr]


def test_members_of_classic_groups_are_not_its_own() -> None:
    scene = Scene({"a": 1})
    scene.driver.machine.known("simple")
    scene.join("m1", "a")

    assert [key for key in scene.driver.reload().timers if key[0] == SESSION] == [
        (SESSION, GROUP, "m1")
    ]


def test_settings_of_a_group_go_over_those_of_the_broker() -> None:
    scene = Scene({"a": 1})
    own = Scene(consumer_session_timeout_ms=50_000, consumer_heartbeat_interval_ms=7_000)
    scene.driver.machine.own_settings = {GROUP: own.settings}

    answer = scene.join("m1", "a")

    assert answer.heartbeat_interval_ms == 7_000
    assert scene.due[SESSION, GROUP, "m1"] == 50_000
