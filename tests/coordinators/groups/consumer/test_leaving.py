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


def test_what_a_member_had_the_others_get() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.settle()

    left = scene.leave("m1")
    assert (left.member_id, left.epoch, left.assignment) == ("m1", -1, None)
    scene.beat("m2")

    assert scene.has("m2") == {"a": [0, 1]}
    assert scene.group.state == "Stable"


def test_the_last_member_leaves_an_empty_group() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")

    scene.leave("m1")

    group = scene.group
    assert (group.state, group.epoch, group.assignment_epoch) == ("Empty", 3, 3)
    assert (group.assigned_ms, group.metadata_hash) == (0, 0)
    assert (group.targets, group.epochs) == ({}, {})
    assert scene.due == {}


def test_who_is_silent_for_its_session_is_a_member_no_longer() -> None:
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


def test_who_does_not_give_back_in_its_time_is_a_member_no_longer() -> None:
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


def test_who_has_given_back_has_all_the_time() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.say_owned("m1")

    scene.wait(REBALANCE_MS)

    assert list(scene.group.by_id) == ["m1", "m2"]
    assert (REBALANCE, GROUP, "m1") not in scene.due


def test_a_rebalance_timeout_is_of_one_epoch() -> None:
    scene = Scene({"a": 3})
    scene.join("m1", "a")
    scene.join("m2", "a")
    scene.beat("m1")
    scene.state.revoking[REBALANCE, GROUP, "m1"] = 1

    scene.wait(REBALANCE_MS)

    assert "m1" in scene.group.by_id


def test_after_a_restart_all_have_their_sessions_and_their_time_to_give_back() -> None:
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


def test_who_could_not_be_fenced_is_fenced_later() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.driver.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    scene.wait(SESSION_MS + 10_000)
    assert list(scene.group.by_id) == ["m1"]
    scene.driver.refuse = None
    scene.wait(500)

    assert scene.group.is_empty


def test_who_is_gone_already_is_not_fenced() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    transition = Transition.begin(scene.state, scene.group, scene.driver.now_ms)

    assert fence(transition, "m2", "why not").records == []  # type: ignore[union-attr]
    assert whole(remove(transition, [], NOBODY, None)).records == []


def test_nothing_of_a_member_that_left_is_due() -> None:
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


def test_a_member_may_leave_by_its_instance() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a", instance_id="i")

    assert scene.leave("m1", instance_id="i").epoch == -1

    assert scene.group.is_empty
    assert scene.group.statics == {}


def test_an_expression_goes_with_its_last_member() -> None:
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
