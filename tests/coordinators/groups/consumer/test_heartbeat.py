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
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.stored.groups.consumer import ConsumerGroupMemberMetadataKey


def test_who_joins_alone_gets_everything() -> None:
    scene = Scene({"a": 3, "b": 1})

    answer = scene.join("m1", "a", "b")

    assert answer.member_id == "m1"
    assert answer.epoch == 2
    assert answer.heartbeat_interval_ms == 5000
    assert scene.has("m1") == {"a": [0, 1, 2], "b": [0]}
    assert scene.group.state == "Stable"


def test_a_second_member_gets_what_the_first_has_given_back() -> None:
    scene = Scene({"a": 4})
    scene.join("m1", "a")

    assert scene.join("m2", "a").assignment == {}
    assert scene.group.state == "Reconciling"
    told = scene.beat("m1")
    assert told.epoch == 2
    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.beat("m2").assignment is None
    assert scene.say_owned("m1").epoch == 3
    scene.beat("m2")

    assert scene.has("m1") == {"a": [0, 1]}
    assert scene.has("m2") == {"a": [2, 3]}
    assert scene.group.state == "Stable"
    assert scene.driver.reload().machine.group(GROUP).state == "Stable"


def test_who_has_no_id_gets_one() -> None:
    answer = Scene({"a": 1}).join("", "a", fresh="new", version=0)

    assert answer.member_id == "new"


def test_a_heartbeat_that_changes_nothing_writes_nothing_and_is_told_nothing() -> None:
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
def test_what_is_new_is_written_though_nothing_is_to_be_done(said: dict[str, Any]) -> None:
    scene = at_rest()
    key = ConsumerGroupMemberMetadataKey(GROUP, "m1")
    written = len(scene.driver.log)

    scene.beat("m1", **said)

    assert key in [record.key for record in scene.driver.records[written:]]


def test_an_instance_is_who_it_says_it_is_though_nothing_is_to_be_done() -> None:
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


def test_an_instance_that_has_had_another_name_is_written_under_that_again() -> None:
    scene = at_rest(instance_id="i")
    scene.join("m1", "a", instance_id="j")
    scene.settle()

    scene.beat("m1", instance_id="i")

    assert scene.group.by_id["m1"].instance_id == "i"


def test_who_leaves_for_a_while_twice_is_away() -> None:
    scene = at_rest(instance_id="i")
    owned = scene.has("m1")

    for _ in range(2):
        assert scene.leave("m1", epoch=-2, instance_id="i").epoch == -2

    assert scene.group.by_id["m1"].epoch == -2
    assert scene.has("m1") == owned
    assert scene.group.state == "Reconciling"


def test_who_was_classic_is_none_any_more_though_it_says_nothing_else() -> None:
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


def test_settings_of_the_group_are_its_own_though_nothing_is_to_be_done() -> None:
    scene = at_rest()
    own = GroupSettings(consumer_heartbeat_interval_ms=7, consumer_session_timeout_ms=8)
    scene.driver.machine.own_settings = {GROUP: own}

    assert scene.beat("m1").heartbeat_interval_ms == 7
    assert scene.due["consumer-session", GROUP, "m1"] == 8


@pytest.mark.parametrize("topics", [None, ["a"]])
def test_who_says_all_is_told_all(topics: list[str] | None) -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    written = len(scene.driver.log)

    answer = scene.beat(
        "m1", topics=topics, owned=scene.owns("m1"), rebalance_timeout_ms=REBALANCE_MS
    )

    assert (answer.assignment is not None) is (topics is not None)
    assert len(scene.driver.log) == written


def test_who_joins_again_under_its_id_is_the_same_member() -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")

    answer = scene.join("m1", "a")

    assert (answer.epoch, answer.assignment) == (2, {topic_id("a"): {0, 1}})
    assert list(scene.group.by_id) == ["m1"]


@pytest.mark.parametrize(("epoch", "than"), [(4, "greater"), (1, "smaller")])
def test_an_epoch_that_is_not_the_members_is_fenced(epoch: int, than: str) -> None:
    scene = Scene({"a": 2})
    scene.join("m1", "a")
    message = (
        f"The consumer group member has a {than} member epoch ({epoch}) than the one known by the "
        "group coordinator (2). The member must abandon all its partitions and rejoin."
    )

    with refusal(FENCED, message):
        scene.beat("m1", epoch=epoch)


def test_the_epoch_before_is_right_for_who_owns_no_more_than_it_was_given() -> None:
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


def test_strangers_are_told_what_is_unknown() -> None:
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


def test_a_new_subscription_is_assigned_anew() -> None:
    scene = Scene({"a": 2, "b": 2})
    scene.join("m1", "a")

    answer = scene.beat("m1", topics=["a", "b"], owned=scene.owns("m1"))

    assert answer.epoch == 3
    assert scene.has("m1") == {"a": [0, 1], "b": [0, 1]}


def test_what_it_no_longer_subscribes_to_it_gives_back_before_the_next_assignment() -> None:
    scene = Scene({"a": 2, "b": 2}, at_once=False, consumer_assignment_interval_ms=15_000)
    scene.join("m1", "a", "b")

    told = scene.beat("m1", topics=["a"])

    assert (told.epoch, told.assignment) == (2, {topic_id("a"): {0, 1}})
    assert scene.group.state == "Assigning"


def test_an_assignor_that_more_members_ask_for_now_assigns_anew() -> None:
    scene = Scene({"a": 3, "b": 3})
    scene.join("m1", "a", "b")
    before = scene.group.epoch

    scene.beat("m1", assignor="range")
    assert scene.group.epoch == before + 1
    scene.beat("m1", assignor="range")
    scene.beat("m1", rack_id="r")
    assert scene.group.epoch == before + 1


def test_the_next_assignment_waits_for_its_interval() -> None:
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


def test_a_clock_that_went_back_holds_no_assignment() -> None:
    scene = Scene({"a": 2}, at_once=False)
    scene.join("m1", "a")
    scene.driver.now_ms -= 500_000

    assert scene.join("m2", "a").epoch == 3


def test_where_everybody_left_nobody_waits_for_the_interval() -> None:
    scene = Scene({"a": 2}, at_once=False)
    scene.join("m1", "a")
    scene.leave("m1")

    assert scene.join("m2", "a").assignment == {topic_id("a"): {0, 1}}


def test_a_group_is_full_for_who_is_not_in_it() -> None:
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


def test_topics_that_come_grow_and_go_are_assigned_anew() -> None:
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


def test_topics_that_have_grown_are_looked_at_until_it_is_written() -> None:
    scene = Scene({"a": 1})
    scene.join("m1", "a")
    scene.create(a=2)

    scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    with refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE):
        scene.beat("m1")
    scene.driver.refuse = None
    scene.beat("m1")

    assert scene.has("m1") == {"a": [0, 1]}


def test_what_could_not_be_written_is_as_it_was_before() -> None:
    scene = Scene({"a": 2})
    scene.driver.refuse = error = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)

    with refusal(error.code):
        scene.join("m1", "a")
    scene.driver.refuse = None

    assert GROUP not in scene.driver.machine.by_id
    assert scene.join("m1", "a").epoch == 2


def test_an_answer_waits_until_its_records_are_committed() -> None:
    scene = Scene({"a": 2})
    scene.driver.hold = True

    with pytest.raises(KeyError):
        scene.join("m1", "a")
    scene.driver.commit()

    assert scene.driver.answers[1].epoch == 2
