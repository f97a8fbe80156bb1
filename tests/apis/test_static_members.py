"""Members with an instance id over the wire: whoever has another id than the instance is fenced."""

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, SYNC_INSTANCE_SINCE, stable_group
from tests.apis.kit import broker, stable
from tests.apis.test_k68_consumer_group_heartbeat import beat, joining
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

INSTANCE_SINCE = 3  # of Heartbeat
FENCED, UNKNOWN = ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID
NAMES = pytest.mark.parametrize(
    ("instance", "member", "code"),
    [("i", None, 0), ("i", "before", FENCED), ("j", None, UNKNOWN)],
)


@pytest.mark.parametrize("version", [v for v in stable(HeartbeatRequest) if v >= INSTANCE_SINCE])
@NAMES
async def test_a_heartbeat_succeeds_only_with_the_member_id_of_its_instance(
    autojump_clock: MockClock, version: int, instance: str, member: str | None, code: ErrorCode
) -> None:
    async with broker() as served:
        group = await stable_group(served, instance="i")
        me = member or group.members[0]
        request = HeartbeatRequest(GROUP, group.generation, me, instance)
        answer = await served.ask(request, version)

    assert answer.error_code == code


@pytest.mark.parametrize(
    "version", [v for v in stable(SyncGroupRequest) if v >= SYNC_INSTANCE_SINCE]
)
@NAMES
async def test_a_sync_succeeds_only_with_the_member_id_of_its_instance(
    autojump_clock: MockClock, version: int, instance: str, member: str | None, code: ErrorCode
) -> None:
    async with broker() as served:
        group = await stable_group(served, instance="i")
        me = member or group.members[0]
        said = {"protocol_type": "consumer", "protocol_name": "range"} if version >= 5 else {}
        request = SyncGroupRequest(GROUP, group.generation, me, group_instance_id=instance, **said)
        answer = await served.ask(request, version)

    assert answer.error_code == code
    assert answer.assignment == (b"" if code else me.encode())


async def test_an_instance_id_can_be_taken_only_after_its_member_released_the_id(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        topic_id = await served.create_topic("a", 2)
        await served.serve_groups(GROUP)
        first = await beat(served, joining(1, instance_id="i"))
        held = await beat(served, joining(1, instance_id="i", member_id="n"))
        away = ConsumerGroupHeartbeatRequest(GROUP, "m", -2, "i")
        release = await beat(served, away)
        second = await beat(served, joining(1, instance_id="i", member_id="n"))
        fenced = await beat(
            served, ConsumerGroupHeartbeatRequest(GROUP, "m", first.member_epoch, "i")
        )

    assert held.error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert (release.error_code, release.member_epoch) == (0, -2)
    assert (second.error_code, second.member_epoch) == (0, first.member_epoch)
    assert second.assignment is not None
    (topic_partitions,) = second.assignment.topic_partitions
    assert (topic_partitions.topic_id, topic_partitions.partitions) == (topic_id, [0, 1])
    assert fenced.error_code == FENCED
