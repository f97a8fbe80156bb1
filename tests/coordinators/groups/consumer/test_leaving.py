"""Members leave, are silent, or do not give back: the group goes on without them."""

from tests.coordinators.groups.consumer.kit import (
    GROUP,
    REBALANCE_MS,
    SESSION_MS,
    UNKNOWN,
    Scene,
    refusal,
    topic_id,
)
from trio_kafka.coordinators.groups.consumer.leaving import NOBODY, fence, remove
from trio_kafka.coordinators.groups.consumer.transition import (
    JOIN,
    REBALANCE,
    SESSION,
    SYNC,
    Transition,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import whole


def test_partitions_of_a_leaving_member_go_to_the_other_members() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.settle()

    answer = scene.leave("m1")
    assert (answer.member_id, answer.epoch, answer.assignment) == ("m1", -1, None)
    scene.beat("m2")

    assert scene.has("m2") == {"a": [0, 1]}
    assert scene.group.state == "Stable"


def test_group_is_empty_after_its_last_member_left() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")

    scene.leave("m1")

    group = scene.group
    assert (group.state, group.epoch, group.assignment_epoch) == ("Empty", 3, 3)
    assert (group.assigned_ms, group.metadata_hash) == (0, 0)
    assert (group.targets, group.epochs) == ({}, {})
    assert scene.due == {}


def test_member_without_heartbeats_is_removed_after_the_session_timeout() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.wait(SESSION_MS - 1)
    scene.beat("m1")
    scene.wait(SESSION_MS - 1)
    assert "m1" in scene.group.by_id

    scene.wait(1)

    assert scene.group.is_empty
    with refusal(UNKNOWN):
        scene.beat("m1")


def test_member_that_does_not_revoke_partitions_is_removed_at_the_rebalance_timeout() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")

    scene.wait(REBALANCE_MS - 1)
    scene.beat("m1")
    scene.beat("m2")
    assert "m1" in scene.group.by_id
    scene.wait(1)
    scene.beat("m2")

    assert list(scene.group.by_id) == ["m2"]
    assert scene.has("m2") == {"a": [0, 1]}


def test_revoking_the_partitions_cancels_the_rebalance_timer() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.say_owned("m1")

    scene.wait(REBALANCE_MS)

    assert list(scene.group.by_id) == ["m1", "m2"]
    assert (REBALANCE, GROUP, "m1") not in scene.due


def test_rebalance_timer_of_an_earlier_epoch_does_not_remove_the_member() -> None:
    scene = Scene({"a": 3})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.state.revoking[REBALANCE, GROUP, "m1"] = 1

    scene.wait(REBALANCE_MS)

    assert "m1" in scene.group.by_id


def test_session_and_rebalance_timers_restart_after_a_broker_restart() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.wait(9_000)

    scene.driver = scene.driver.reload()

    assert scene.due == {
        (SESSION, GROUP, "m1"): SESSION_MS,
        (SESSION, GROUP, "m2"): SESSION_MS,
        (REBALANCE, GROUP, "m1"): REBALANCE_MS,
    }


def test_fencing_is_retried_after_its_records_were_refused() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.driver.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    scene.wait(SESSION_MS + 10_000)
    assert list(scene.group.by_id) == ["m1"]
    scene.driver.refuse = None
    scene.wait(500)

    assert scene.group.is_empty


def test_fencing_an_already_removed_member_writes_no_record() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)

    assert fence(transition, "m2", "why not").records == []  # type: ignore[union-attr]
    assert whole(remove(transition, [], NOBODY, None)).records == []


def test_timers_of_a_member_that_left_are_cancelled() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.state.joining.add((JOIN, GROUP, "m1"))

    scene.leave("m1")

    assert {key[2] for key in scene.due} == {"m2"}
    assert scene.state.joining == set()
    assert scene.state.revoking == {}
    assert (SYNC, GROUP, "m1") not in scene.due


def test_static_member_leaves_by_its_instance_id() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")

    assert scene.leave("m1", instance_id="i").epoch == -1

    assert scene.group.is_empty
    assert scene.group.statics == {}


def test_expression_is_removed_with_its_last_member() -> None:
    scene = Scene({"a": 2, "b": 1})
    for name in ("m1", "m2"):
        scene.join(name, regex="[ab]")
    scene.wait(0)
    scene.settle()
    assert scene.group.subscriptions.regexes == {"[ab]": 2}

    scene.leave("m1")
    assert scene.group.subscriptions.resolved.keys() == {"[ab]"}
    scene.leave("m2")

    assert scene.group.subscriptions.resolved == {}
    assert scene.group.subscriptions.topics == {}
    assert topic_id("a") not in scene.group.epochs
