"""ConsumerGroupHeartbeat: members join over the wire, and the errors that its request can have."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import RuleAuthorizer
from tests.apis.configs import SET, alter
from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.protocol.messages.k57_update_features import FeatureUpdateKey, UpdateFeaturesRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from trio_kafka.protocol.structs.cluster import TopicPartitions
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import Operation
from trio_kafka.security.resources import Resource, ResourceType
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world

GROUP = "g"
VERSIONS = stable(ConsumerGroupHeartbeatRequest)


def joining(version: int, **said: Any) -> ConsumerGroupHeartbeatRequest:
    fields: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": "m" if version else "",
        "member_epoch": 0,
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": ["a"],
        "topic_partitions": [],
    }
    return ConsumerGroupHeartbeatRequest(**fields | said)


async def beat(
    served: ServedBroker, request: ConsumerGroupHeartbeatRequest, version: int = 1
) -> ConsumerGroupHeartbeatResponse:
    answer: ConsumerGroupHeartbeatResponse = await served.ask(request, version)
    return answer


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_member_joins_receives_its_assignment_and_leaves(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a", 3)
        await served.serve_groups(GROUP)

        joined = await beat(served, joining(version), version)

        assert (joined.error_code, joined.member_epoch) == (0, 2)
        assert joined.member_id == "m" if version else len(joined.member_id or "") == 22
        assert joined.heartbeat_interval_ms == 5000
        assert joined.assignment is not None
        assert joined.assignment.topic_partitions == [TopicPartitions(topic_id, [0, 1, 2])]
        live = ConsumerGroupHeartbeatRequest(GROUP, joined.member_id or "", 2)
        lives = await beat(served, live, version)
        assert (lives.error_code, lives.member_epoch, lives.assignment) == (0, 2, None)
        gone = await beat(
            served, ConsumerGroupHeartbeatRequest(GROUP, joined.member_id or "", -1), version
        )
        assert (gone.error_code, gone.member_epoch) == (0, -1)
        unknown = await beat(served, live, version)
        assert unknown.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert unknown.error_message == f"Member {joined.member_id} is not a member of group g."


@pytest.mark.parametrize(
    ("said", "code", "message"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST, "GroupId can't be empty."),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST, "InstanceId can't be empty."),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST, "RackId can't be empty."),
        (
            {"rebalance_timeout_ms": -1},
            ErrorCode.INVALID_REQUEST,
            "RebalanceTimeoutMs must be provided in first request.",
        ),
        (
            {"topic_partitions": None},
            ErrorCode.INVALID_REQUEST,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"topic_partitions": [TopicPartitions(bytes(16), [1])]},
            ErrorCode.INVALID_REQUEST,
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            {"subscribed_topic_names": None},
            ErrorCode.INVALID_REQUEST,
            (
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
                "(re-)joining."
            ),
        ),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST, "InstanceId can't be null."),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST, "MemberEpoch is invalid."),
        (
            {"server_assignor": "best"},
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            "ServerAssignor best is not supported. Supported assignors: uniform, range.",
        ),
        (
            {"subscribed_topic_names": None, "subscribed_topic_regex": "("},
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            "SubscribedTopicRegex `(` is not a valid regular expression: missing ): (.",
        ),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND, "Consumer group g not found."),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found."),
    ],
    ids=str,
)
async def test_an_invalid_heartbeat_is_refused_with_the_message_of_kafka(
    autojump_clock: MockClock, said: dict[str, Any], code: ErrorCode, message: str
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP, " ")

        answer = await beat(served, joining(1, **said))

        assert answer.error_code == code
        assert answer.error_message == message


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        ({"rack_id": "r"}, {"rack_id": "r"}),
        ({"rebalance_timeout_ms": 7}, {"rebalance_timeout_ms": 7}),
        ({"subscribed_topic_names": ["a", "b"]}, {"topics": ("a", "b"), "epoch": 3}),
        ({"subscribed_topic_regex": "b.*"}, {"regex": "b.*"}),
        ({"server_assignor": "range"}, {"assignor": "range", "epoch": 3}),
        ({}, {"topics": ("a",), "epoch": 2}),
    ],
    ids=str,
)
async def test_changed_fields_of_a_heartbeat_are_stored_for_the_member(
    autojump_clock: MockClock, said: dict[str, Any], fields: dict[str, Any]
) -> None:
    async with broker({"group.consumer.assignment.interval.ms": "0"}) as served:
        await served.create_topic("a", 3)
        await served.create_topic("b", 1)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))

        answer = await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "m", 2, **said))

        assert answer.error_code == 0
        member = served.broker.groups.coordinator.shard_of(GROUP).machine.by_id[GROUP].by_id["m"]
        assert {name: getattr(member, name) for name in fields} == fields


async def test_a_heartbeat_with_an_unknown_instance_id_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("a", 3)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))

        answer = await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "m", 2, instance_id="i"))

        assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert answer.error_message == "Instance id i is unknown."


async def test_a_member_gets_the_next_epoch_only_after_reporting_its_owned_partitions(
    autojump_clock: MockClock,
) -> None:
    """It gives back what another one is to have, and says so."""
    async with broker({"group.consumer.assignment.interval.ms": "0"}) as served:
        topic_id = await served.create_topic("a", 2)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))
        await beat(served, joining(1, member_id="n"))
        response = await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "m", 2))
        assert response.assignment is not None
        (kept,) = response.assignment.topic_partitions
        assert (kept.topic_id, len(kept.partitions)) == (topic_id, 1)

        silent = await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "m", 2))
        owns = ConsumerGroupHeartbeatRequest(GROUP, "m", 2, topic_partitions=[kept])
        given_back = await beat(served, owns)

        assert (silent.member_epoch, given_back.member_epoch) == (2, 3)


@pytest.mark.parametrize("said", [{"group_id": " "}, {"member_id": " "}], ids=str)
async def test_a_heartbeat_with_empty_ids_is_an_invalid_request(
    autojump_clock: MockClock, said: dict[str, Any]
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP, " ")
        fields = {"group_id": GROUP, "member_id": "m", "member_epoch": 2}

        answer = await beat(served, ConsumerGroupHeartbeatRequest(**fields | said))

        assert answer.error_code == ErrorCode.INVALID_REQUEST


async def test_consumer_groups_are_served_only_while_group_version_is_enabled(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("a", 1)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))
        live = ConsumerGroupHeartbeatRequest(GROUP, "m", 2)
        assert (await beat(served, live)).error_code == 0

        for level, code in ((0, ErrorCode.UNSUPPORTED_VERSION), (1, ErrorCode.NONE)):
            update = FeatureUpdateKey("group.version", level, upgrade_type=2 if not level else 1)
            assert (
                await served.ask(UpdateFeaturesRequest(feature_updates=[update]))
            ).error_code == 0
            assert (await beat(served, live)).error_code == code


async def test_consumer_groups_are_unsupported_when_the_protocol_is_disabled(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    async with broker(settings) as served:
        await served.serve_groups(GROUP)

        answer = await beat(served, joining(1))

        assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_a_group_setting_overrides_that_of_the_broker(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("a", 1)
        await served.serve_groups(GROUP)
        joined = await beat(served, joining(1))

        change = ("consumer.heartbeat.interval.ms", SET, "7000")
        assert await alter(served, ConfigResourceType.GROUP, GROUP, change) == (0, None)
        live = await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "m", 2))

        assert (joined.heartbeat_interval_ms, live.heartbeat_interval_ms) == (5000, 7000)


async def test_a_group_and_its_assignment_survive_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("a", 2)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))

    async with served_broker(world) as served:
        await served.serve_groups(GROUP)
        says_all = joining(1, member_epoch=2)
        again = await beat(served, says_all)

        assert (again.error_code, again.member_epoch) == (0, 2)
        assert again.assignment is not None  # it says all, so it is told all
        assert [topic.partitions for topic in again.assignment.topic_partitions] == [[0, 1]]


async def test_permission_on_a_topic_is_checked_once_however_often_the_request_names_it(
    autojump_clock: MockClock,
) -> None:
    topics: list[str] = []

    def rule(operation: Operation, resource: Resource) -> bool:
        if resource.type is ResourceType.TOPIC:
            topics.append(resource.name)
        return resource.name != "secret"

    async with broker() as served:
        await served.create_topic("a", 1)
        await served.serve_groups(GROUP)
        served.broker.parts.authorizer = RuleAuthorizer(rule)

        joined = await beat(served, joining(1, subscribed_topic_names=["a", "b"] * 1000))
        names = ["a"] * 1000 + ["secret"] + ["b"] * 1000
        refused = await beat(served, joining(1, subscribed_topic_names=names))

        served.broker.parts.authorizer = ALLOW_ALL
    assert (joined.error_code, joined.member_epoch) == (0, 2)
    assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert topics == ["a", "b", "a", "secret"]
