"""ConsumerGroupDescribe: groups as tools see them."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import join
from tests.apis.kit import broker, stable
from tests.apis.test_k68_consumer_group_heartbeat import GROUP, beat, joining
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.protocol.messages.k69_consumer_group_describe import ConsumerGroupDescribeRequest
from trio_kafka.protocol.structs.groups import DescribedTopicPartitions
from trio_kafka.security.operations import NOT_ASKED, OF_GROUP

VERSIONS = stable(ConsumerGroupDescribeRequest)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_group_is_described_with_its_members(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a", 2)
        await served.serve_groups(GROUP, "other", "")
        await beat(served, joining(1, rack_id="r", instance_id="i", server_assignor="range"))

        answer = await served.ask(ConsumerGroupDescribeRequest([GROUP, "other", ""], True), version)

        group, missing, nameless = answer.groups
        assert (group.error_code, group.group_id, group.group_state) == (0, GROUP, "Stable")
        assert (group.group_epoch, group.assignment_epoch) == (2, 2)
        assert (group.assignor_name, group.authorized_operations) == ("range", OF_GROUP)
        (member,) = group.members
        assert (member.member_id, member.instance_id, member.rack_id) == ("m", "i", "r")
        assert (member.member_epoch, member.client_host[0]) == (2, "/")
        assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (["a"], "")
        described_topic_partitions = [DescribedTopicPartitions(topic_id, "a", [0, 1])]
        assert member.assignment.topic_partitions == described_topic_partitions
        assert member.target_assignment.topic_partitions == described_topic_partitions
        assert member.member_type == (1 if version else -1)
        assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert missing.error_message == "Group other not found."
        assert missing.authorized_operations == NOT_ASKED
        assert nameless.error_code == ErrorCode.INVALID_GROUP_ID


async def test_an_ipv6_address_of_a_member_is_printed_as_in_java(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("a", 1)
        await served.serve_groups(GROUP)
        async with served.connect() as client:
            await client.ask(ApiVersionsRequest(), 0)
            for processor in served.broker.plane.processors:
                for connection in processor.connections.values():
                    connection.peer = Endpoint("fe80::a:1%eth0", 1)
            await client.ask(joining(1), 1)
            answer = await client.ask(ConsumerGroupDescribeRequest([GROUP]), 1)

    assert answer.groups[0].members[0].client_host == "/fe80:0:0:0:0:0:a:1"


async def test_each_group_is_unsupported_when_the_consumer_protocol_is_disabled(
    autojump_clock: MockClock,
) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    async with broker(settings) as served:
        answer = await served.ask(ConsumerGroupDescribeRequest([GROUP]))

        assert [group.error_code for group in answer.groups] == [ErrorCode.UNSUPPORTED_VERSION]


async def test_current_and_target_assignments_are_described_separately(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a", 2)
        await served.serve_groups(GROUP)
        await beat(served, joining(1))
        await beat(served, joining(1, member_id="n", server_assignor="uniform"))
        (waiting,) = (await served.ask(ConsumerGroupDescribeRequest([GROUP]))).groups
        await trio.sleep(1.1)  # the interval between two assignments
        await beat(served, ConsumerGroupHeartbeatRequest(GROUP, "n", 2))
        (moving,) = (await served.ask(ConsumerGroupDescribeRequest([GROUP]))).groups

    assert (waiting.group_state, waiting.group_epoch, waiting.assignment_epoch) == (
        "Assigning",
        3,
        2,
    )
    assert (moving.group_state, moving.assignment_epoch) == ("Reconciling", 3)
    first, second = sorted(moving.members, key=lambda member: member.member_id)
    assert first.assignment.topic_partitions == [DescribedTopicPartitions(topic_id, "a", [0, 1])]
    (shall,) = first.target_assignment.topic_partitions
    (other,) = second.target_assignment.topic_partitions
    assert sorted([*shall.partitions, *other.partitions]) == [0, 1]
    assert second.assignment.topic_partitions == []
    assert (first.member_epoch, second.member_epoch) == (2, 3)


async def test_members_are_described_with_their_protocol_and_subscription_regex(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 1)
        await served.serve_groups(GROUP)
        await beat(served, joining(1, subscribed_topic_names=None, subscribed_topic_regex="t|u"))
        old = await join(served)
        (result,) = (await served.ask(ConsumerGroupDescribeRequest([GROUP]))).groups

    kinds = {member.member_id: member.member_type for member in result.members}
    assert kinds == {"m": 1, old.member_id: 0}
    said = {
        member.subscribed_topic_regex: member.subscribed_topic_names for member in result.members
    }
    assert said == {"t|u": [], "": ["t"]}
