"""Members of the classic protocol in a consumer group."""

from typing import Any

import pytest

from tests.coordinators.groups.consumer.classic import (
    CLASSIC_SESSION_MS,
    Member,
    protocols,
)
from tests.coordinators.groups.consumer.kit import (
    GROUP,
    REBALANCE_MS,
    UNKNOWN,
    Scene,
    refusal,
)
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, LeavingMember
from trio_kafka.coordinators.groups.consumer.member import MemberState
from trio_kafka.coordinators.groups.consumer.transition import JOIN, SESSION, SYNC
from trio_kafka.errors import ErrorCode, KafkaError

REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS
INCONSISTENT = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
ILLEGAL = ErrorCode.ILLEGAL_GENERATION


def scene_with_new(**topics: int) -> Scene:
    scene = Scene(topics or {"a": 4})
    scene.join("new", "a")
    return scene


def test_classic_member_of_a_consumer_group_gets_a_member_id_and_then_an_epoch() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])

    answer = member.answer(member.ask_join())
    assert (answer.error, answer.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "fresh")
    assert "fresh" not in scene.group.by_id
    member.member_id = answer.member_id
    joined = member.join()

    assert (joined.generation, joined.protocol_type, joined.protocol_name) == (
        3,
        "consumer",
        "range",
    )
    assert (joined.leader, joined.members) == ("", ())
    assert scene.due[SESSION, GROUP, "fresh"] == CLASSIC_SESSION_MS
    assert scene.due[SYNC, GROUP, "fresh"] == REBALANCE_MS
    assert member.sync() == {}
    assert (SYNC, GROUP, "fresh") not in scene.due


def test_classic_member_is_asked_to_rejoin_when_its_partitions_are_released() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.sync()

    assert scene.group.by_id["fresh"].state is MemberState.UNRELEASED_PARTITIONS
    assert member.beat() is ErrorCode.NONE, "it has nothing to do yet"
    scene.say_owned("new")
    scene.say_owned("new")
    assert member.beat() is REBALANCE
    assert scene.due[JOIN, GROUP, "fresh"] == REBALANCE_MS
    member.join()
    assert (JOIN, GROUP, "fresh") not in scene.due
    assert member.sync() == {"a": [2, 3]}
    assert member.beat() is ErrorCode.NONE
    assert scene.group.state == "Stable"


def test_sync_restarts_the_session_timeout_of_a_classic_member() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    scene.wait(REBALANCE_MS // 2)

    member.sync()

    assert scene.due[SESSION, GROUP, "fresh"] == CLASSIC_SESSION_MS


def test_classic_member_revokes_partitions_by_rejoining_without_them() -> None:
    scene = Scene({"a": 4})
    scene.join("new", "a")
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.sync()
    for _ in range(3):
        scene.say_owned("new")
        member.live()
    scene.join("new2", "a")
    assert member.beat() is REBALANCE

    member.join()
    partitions = member.sync()

    assert scene.group.by_id["fresh"].state is MemberState.UNREVOKED_PARTITIONS
    assert len(partitions["a"]) == 1
    assert member.beat() is REBALANCE, "it is to join again, without the rest"
    member.join()
    assert member.sync() == partitions
    assert scene.group.by_id["fresh"].epoch == scene.group.epoch


def test_sync_is_refused_while_the_classic_member_must_rejoin() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.sync()
    scene.join("new2", "a")

    with refusal(REBALANCE):
        member.sync()

    assert scene.due[JOIN, GROUP, "fresh"] == REBALANCE_MS
    scene.wait(5_000)
    assert member.beat() is REBALANCE
    assert scene.due[JOIN, GROUP, "fresh"] == REBALANCE_MS - 5_000, "since the first time"


@pytest.mark.parametrize("step", ["join", "sync"])
def test_classic_member_without_the_due_join_or_sync_is_removed(step: str) -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    if step == "join":
        member.sync()
        scene.join("new2", "a")
        assert member.beat() is REBALANCE

    scene.wait(REBALANCE_MS - 1)
    assert "fresh" in scene.group.by_id
    if step == "join":
        member.beat()
    scene.wait(1)

    assert "fresh" not in scene.group.by_id
    with refusal(UNKNOWN):
        member.beat()


def test_classic_member_is_removed_after_its_own_session_timeout() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.sync()

    scene.wait(CLASSIC_SESSION_MS)

    assert "fresh" not in scene.group.by_id


@pytest.mark.parametrize(
    "said",
    [
        {"protocol_type": "connect"},
        {"protocols": ()},
        {"protocols": protocols(["a"], names=("cooperative-sticky",))},
    ],
    ids=lambda said: next(iter(said)),
)
def test_classic_join_without_a_common_protocol_is_refused(said: dict[str, Any]) -> None:
    scene = scene_with_new()
    Member(scene, ["a"]).join(asks_for_id=False)
    other = Member(scene, ["a"])

    with refusal(INCONSISTENT, "Member x's protocols are not supported."):
        other.join(asks_for_id=False, fresh="x", **said)


def test_classic_join_with_a_single_common_protocol_is_accepted() -> None:
    scene = scene_with_new()
    Member(scene, ["a"], names=("range", "sticky")).join(asks_for_id=False)
    other = Member(scene, ["a"], names=("roundrobin", "sticky"))

    assert other.join(asks_for_id=False, fresh="x").protocol_name == "roundrobin"


def test_classic_join_with_unreadable_consumer_metadata_is_refused() -> None:
    scene = scene_with_new()

    with refusal(ErrorCode.UNKNOWN_SERVER_ERROR):
        Member(scene, ["a"]).join(asks_for_id=False, protocols=(GroupProtocol("range", b""),))


def test_classic_join_is_refused_when_migration_is_disabled() -> None:
    scene = Scene({"a": 1}, consumer_migration_policy="disabled")
    scene.join("new", "a")
    message = (
        "Cannot join the consumer group g with the classic protocol because the group migration "
        "is disabled."
    )

    with refusal(INCONSISTENT, message):
        Member(scene, ["a"]).join(asks_for_id=False)


def test_full_consumer_group_refuses_a_classic_join() -> None:
    scene = Scene({"a": 1}, consumer_max_size=1)
    scene.join("new", "a")

    with refusal(ErrorCode.GROUP_MAX_SIZE_REACHED):
        Member(scene, ["a"]).join(asks_for_id=False)


def test_requests_of_a_classic_member_are_validated_as_in_a_classic_group() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"], instance="i")
    member.join()
    member.sync()

    with refusal(UNKNOWN, "Member new does not use the classic protocol."):
        member.beat(member_id="new", instance_id=None)
    with refusal(UNKNOWN, "Member x is not a member of group g."):
        member.beat(member_id="x", instance_id=None)
    with refusal(UNKNOWN, "Member with instance id j is not a member of group g."):
        member.beat(instance_id="j")
    with refusal(ErrorCode.FENCED_INSTANCE_ID):
        member.beat(member_id="x")
    with refusal(
        ILLEGAL, "The request generation id 9 is not equal to the member epoch 3 of member fresh."
    ):
        member.beat(generation=9)
    with refusal(ILLEGAL):
        member.sync(generation=9)
    with refusal(INCONSISTENT):
        member.sync(protocol_type="connect")
    with refusal(INCONSISTENT):
        member.sync(protocol_name="sticky")
    assert member.sync(protocol_type=None, protocol_name=None) == {}
    with refusal(UNKNOWN):
        member.join(member_id="x", instance_id="j")
    with refusal(ErrorCode.FENCED_INSTANCE_ID):
        member.join(member_id="x")


def test_members_that_leave_in_a_single_request_get_separate_answers() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"], instance="i")
    member.join()

    codes = member.leave(
        LeavingMember(member_id="x"),
        LeavingMember(member_id="", instance_id="j"),
        LeavingMember(member_id="x", instance_id="i"),
        LeavingMember(member_id="", instance_id="i"),
        LeavingMember(member_id="fresh", instance_id="i"),
    )

    assert codes == [
        UNKNOWN,
        UNKNOWN,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.NONE,
        ErrorCode.NONE,
    ]
    assert list(scene.group.by_id) == ["new"]


def test_leave_request_of_unknown_members_writes_no_record() -> None:
    scene = scene_with_new()
    written = len(scene.driver.log)

    assert Member(scene, ["a"]).leave(LeavingMember(member_id="x")) == [UNKNOWN]

    assert len(scene.driver.log) == written


def test_classic_join_with_refused_records_leaves_no_member_and_no_timer() -> None:
    scene = scene_with_new()
    scene.driver.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)

    with refusal(ErrorCode.NOT_ENOUGH_REPLICAS):
        Member(scene, ["a"]).join(asks_for_id=False)

    assert list(scene.due) == [(SESSION, GROUP, "new")]
    assert list(scene.group.by_id) == ["new"]


def test_unchanged_rejoin_of_a_classic_member_writes_no_record() -> None:
    scene = scene_with_new()
    member = Member(scene, ["a"])
    member.join(asks_for_id=False)
    member.join()
    written = len(scene.driver.log)

    assert member.join().generation == 3

    assert len(scene.driver.log) == written


def test_static_kip_848_member_can_rejoin_as_classic_without_its_expression() -> None:
    scene = Scene({"a": 1, "b": 1})
    scene.join("new", "a")
    scene.join("other", regex="b", instance_id="i")
    scene.wait(0)
    scene.settle()
    scene.leave("other", epoch=-2, instance_id="i")

    member = Member(scene, ["b"], instance="i")
    member.join(fresh="two")

    assert scene.group.subscriptions.regexes == {}
    assert scene.group.by_id["two"].topics == ("b",)
    assert member.sync() == {"b": [0]}
