"""Members join, are assigned, give back and get, by heartbeats alone."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.classic import Member as Classic
from tests.coordinators.groups.consumer.kit import (
    FENCED,
    GROUP,
    REBALANCE_MS,
    UNKNOWN,
    Scene,
    refusal,
    topic_id,
)
from trio_kafka.coordinators.groups.consumer.heartbeat import heartbeat
from trio_kafka.coordinators.groups.consumer.values import Heartbeat, OwnedTopic
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupMemberMetadataKey
from trio_kafka.scheduling.chunked_work import Steps


def test_only_member_gets_all_partitions() -> None:
    scene = Scene({"a": 3, "b": 1})

    answer = scene.join("m1", "a", "b")

    assert answer.member_id == "m1"
    assert answer.epoch == 2
    assert answer.heartbeat_interval_ms == 5000
    assert scene.has("m1") == {"a": [0, 1, 2], "b": [0]}
    assert scene.group.state == "Stable"


def test_heartbeat_with_many_topics_is_handled_in_steps_and_stores_each_name_once() -> None:
    scene = Scene({"a": 1, "t7": 1})
    names = [f"t{number}" for number in range(5000)]
    topics = [*reversed(names), *names, "a"]
    request = Heartbeat(GROUP, "m1", 0, "c", "/h", topics=topics, rebalance_timeout_ms=1, owned=[])
    pauses = 0

    def event(*arguments: Any) -> Steps[Effects]:
        nonlocal pauses
        steps = heartbeat(request, *arguments)
        assert not isinstance(steps, Effects)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                effects: Effects = end.value
                return effects
            pauses += 1
            yield

    answer = scene.driver.ask(event)

    assert pauses > 100
    assert set(answer.assignment) == {topic_id("a"), topic_id("t7")}
    assert scene.group.by_id["m1"].topics == tuple(sorted(["a", *names]))


def test_second_member_gets_the_partitions_that_the_first_member_revoked() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a")

    assert scene.join("m2", "a").assignment == {}
    assert scene.group.state == "Reconciling"
    answer = scene.beat("m1")
    assert answer.epoch == 2
    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.beat("m2").assignment is None
    assert scene.say_owned("m1").epoch == 3
    scene.beat("m2")

    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.has("m2") == {"a": [2, 3]}
    assert scene.group.state == "Stable"
    assert scene.driver.reload().machine.group(GROUP).state == "Stable"


def test_member_without_an_id_gets_an_id() -> None:
    answer = Scene({"a": 1}).join("", "a", fresh="new", version=0)

    assert answer.member_id == "new"


def test_unchanged_heartbeat_writes_no_record_and_returns_no_assignment() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    written = len(scene.driver.log)

    assert scene.beat("m1").assignment is None
    assert scene.beat("m1", owned=scene.owns("m1")).assignment is None
    assert len(scene.driver.log) == written


def at_rest(**said: Any) -> Scene:
    """A group in which nothing is to be done, of members m1 and m2; `said` by the first."""
    scene = Scene({"a": 2, "b": 1})
    scene.join("m1", "a", **said)
    scene.join("m2", "a")
    scene.settle()
    written = len(scene.driver.log)
    scene.settle()
    assert len(scene.driver.log) == written
    return scene


@pytest.mark.parametrize(
    "said",
    [
        {"rebalance_timeout_ms": 7},
        {"topics": ["b"]},
        {"regex": "b"},
        {"assignor": "range"},
        {"rack_id": "r"},
        {"client_id": "other"},
        {"client_host": "/127.0.0.2"},
    ],
    ids=lambda said: next(iter(said)),
)
def test_changed_member_metadata_is_written_in_a_stable_group(said: dict[str, Any]) -> None:
    scene = at_rest()
    key = ConsumerGroupMemberMetadataKey(GROUP, "m1")
    written = len(scene.driver.log)

    scene.beat("m1", **said)

    assert key in [record.key for record in scene.driver.records[written:]]


def test_heartbeat_with_a_wrong_instance_id_is_refused_in_a_stable_group() -> None:
    scene = at_rest(instance_id="i")
    written = len(scene.driver.log)

    assert scene.beat("m1", instance_id="i").assignment is None
    assert len(scene.driver.log) == written
    with refusal(UNKNOWN):
        scene.beat("m2", instance_id="j")
    with refusal(ErrorCode.FENCED_INSTANCE_ID):
        scene.beat("m2", instance_id="i")
    scene.group.statics["i"] = "m2"  # no record says so
    with refusal(ErrorCode.FENCED_INSTANCE_ID):
        scene.beat("m1", instance_id="i")


def test_member_can_return_to_an_earlier_instance_id() -> None:
    scene = at_rest(instance_id="i")
    scene.join("m1", "a", instance_id="j")
    scene.settle()

    scene.beat("m1", instance_id="i")

    assert scene.group.by_id["m1"].instance_id == "i"


def test_static_member_that_leaves_temporarily_twice_keeps_its_partitions() -> None:
    scene = at_rest(instance_id="i")
    owned = scene.has("m1")

    for _ in range(2):
        assert scene.leave("m1", epoch=-2, instance_id="i").epoch == -2

    assert scene.group.by_id["m1"].epoch == -2
    assert scene.has("m1") == owned
    assert scene.group.state == "Reconciling"


def test_kip_848_heartbeat_ends_the_classic_protocol_of_a_member() -> None:
    scene = at_rest()
    classic = Classic(scene, ["a"])
    classic.join(asks_for_id=False)
    scene.settle()
    classic.join()
    member = scene.group.by_id[classic.member_id]
    assert member.classic is not None
    assert (scene.group.state, member.epoch) == ("Stable", scene.group.epoch)

    scene.beat(member.member_id, epoch=member.epoch)

    assert scene.group.classic == 0


def test_settings_of_the_group_apply_to_an_unchanged_heartbeat() -> None:
    scene = at_rest()
    own = GroupSettings(consumer_heartbeat_interval_ms=7, consumer_session_timeout_ms=8)
    scene.driver.machine.own_settings = {GROUP: own}

    assert scene.beat("m1").heartbeat_interval_ms == 7
    assert scene.due["consumer-session", GROUP, "m1"] == 8


@pytest.mark.parametrize("topics", [None, ["a"]])
def test_full_heartbeat_is_answered_with_the_assignment(topics: list[str] | None) -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    written = len(scene.driver.log)

    answer = scene.beat(
        "m1", topics=topics, owned=scene.owns("m1"), rebalance_timeout_ms=REBALANCE_MS
    )

    assert (answer.assignment is not None) is (topics is not None)
    assert len(scene.driver.log) == written


def test_join_with_a_known_member_id_keeps_the_member() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")

    answer = scene.join("m1", "a")

    assert (answer.epoch, answer.assignment) == (2, {topic_id("a"): {0, 1}})
    assert list(scene.group.by_id) == ["m1"]


@pytest.mark.parametrize(("epoch", "than"), [(4, "greater"), (1, "smaller")])
def test_heartbeat_with_a_wrong_member_epoch_is_fenced(epoch: int, than: str) -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    message = (
        f"The consumer group member has a {than} member epoch ({epoch}) than the one known by the "
        "group coordinator (2). The member must abandon all its partitions and rejoin."
    )

    with refusal(FENCED, message):
        scene.beat("m1", epoch=epoch)


def test_previous_epoch_is_accepted_only_without_unassigned_owned_partitions() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    scene.join("m2", "b")
    assert scene.beat("m1").epoch == 3
    owned = scene.owns("m1")

    assert scene.beat("m1", epoch=2, owned=owned).epoch == 3
    assert scene.beat("m1", epoch=2, owned=[]).epoch == 3
    for wrong in (None, [OwnedTopic(topic_id("a"), [0, 1, 2])], [OwnedTopic(topic_id("b"), [0])]):
        with refusal(FENCED):
            scene.beat("m1", epoch=2, owned=wrong)


def test_heartbeat_with_an_unknown_group_member_or_instance_is_refused() -> None:
    scene = Scene({"a": 2})

    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Consumer group g not found."):
        scene.beat("m1", epoch=1)
    with refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found."):
        scene.leave("m1")
    scene.join("m1", "a")
    with refusal(UNKNOWN, "Member m2 is not a member of group g."):
        scene.beat("m2", epoch=1)
    with refusal(UNKNOWN, "Member m2 is not a member of group g."):
        scene.leave("m2")
    with refusal(UNKNOWN, "Instance id i is unknown."):
        scene.beat("m2", epoch=1, instance_id="i")


def test_changed_subscription_causes_a_new_assignment() -> None:
    scene = Scene({"a": 2, "b": 2})
    scene.join("m1", "a")

    answer = scene.beat("m1", topics=["a", "b"], owned=scene.owns("m1"))

    assert answer.epoch == 3
    assert scene.has("m1") == {"a": [0, 1], "b": [0, 1]}


def test_unsubscribed_topic_is_revoked_before_the_next_assignment() -> None:
    scene = Scene({"a": 2, "b": 2}, at_once=False, consumer_assignment_interval_ms=15_000)
    scene.join("m1", "a", "b")

    answer = scene.beat("m1", topics=["a"])

    assert (answer.epoch, answer.assignment) == (2, {topic_id("a"): {0, 1}})
    assert scene.group.state == "Assigning"


def test_change_of_the_preferred_assignor_causes_a_new_assignment() -> None:
    scene = Scene({"a": 3, "b": 3})
    scene.join("m1", "a", "b")
    before = scene.group.epoch

    scene.beat("m1", assignor="range")
    assert scene.group.epoch == before + 1
    scene.beat("m1", assignor="range")
    scene.beat("m1", rack_id="r")
    assert scene.group.epoch == before + 1


def test_next_assignment_waits_for_the_assignment_interval() -> None:
    scene = Scene({"a": 2}, at_once=False)
    scene.join("m1", "a")

    joined = scene.join("m2", "a")

    assert (joined.epoch, joined.assignment) == (2, {})
    assert scene.group.state == "Assigning"
    scene.wait(999)
    assert scene.beat("m2").epoch == 2
    scene.wait(1)
    assert scene.beat("m2").epoch == 3
    assert scene.group.state == "Reconciling"


def test_backward_clock_jump_does_not_delay_the_next_assignment() -> None:
    scene = Scene({"a": 2}, at_once=False)
    scene.join("m1", "a")
    scene.driver.now_ms -= 500_000

    assert scene.join("m2", "a").epoch == 3


def test_assignment_of_an_emptied_group_skips_the_assignment_interval() -> None:
    scene = Scene({"a": 2}, at_once=False)
    scene.join("m1", "a")
    scene.leave("m1")

    assert scene.join("m2", "a").assignment == {topic_id("a"): {0, 1}}


def test_full_group_refuses_new_members_but_not_returning_static_members() -> None:
    scene = Scene({"a": 2}, consumer_max_size=1)
    scene.join("m1", "a", instance_id="i")
    message = "The consumer group has reached its maximum capacity of 1 members."

    with refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message):
        scene.join("m2", "a")
    with refusal(ErrorCode.GROUP_MAX_SIZE_REACHED):
        scene.join("", "a", fresh="x", version=0)
    assert scene.beat("m1", instance_id="i").epoch == 2
    scene.leave("m1", epoch=-2, instance_id="i")
    assert scene.join("m2", "a", instance_id="i").epoch == 2


def test_created_enlarged_and_deleted_topics_cause_new_assignments() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a", "b")
    assert scene.has("m1") == {"a": [0]}

    scene.create(b=1)
    assert scene.beat("m1").epoch == 3
    assert scene.has("m1") == {"a": [0], "b": [0]}
    scene.create(a=2, unread=1)
    scene.beat("m1")
    assert scene.has("m1") == {"a": [0, 1], "b": [0]}
    scene.delete("a")
    scene.settle("m1")
    assert scene.has("m1") == {"b": [0]}
    assert scene.group.state == "Stable"


def test_topic_change_is_processed_again_after_its_records_were_refused() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    scene.create(a=2)

    scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE):
        scene.beat("m1")
    scene.driver.refuse = None
    scene.beat("m1")

    assert scene.has("m1") == {"a": [0, 1]}


def test_refused_records_of_a_join_leave_no_group() -> None:
    scene = Scene({"a": 2})
    scene.driver.refuse = error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    with refusal(error.code):
        scene.join("m1", "a")
    scene.driver.refuse = None

    assert GROUP not in scene.driver.machine.by_id
    assert scene.join("m1", "a").epoch == 2


def test_heartbeat_answer_waits_until_its_records_are_committed() -> None:
    scene = Scene({"a": 2})
    scene.driver.hold = True

    with pytest.raises(KeyError):
        scene.join("m1", "a")
    scene.driver.commit()

    assert scene.driver.answers[1].epoch == 2
