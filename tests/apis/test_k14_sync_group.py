"""SyncGroup in all its versions."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import (
    GROUP,
    STRANGERS,
    SYNC_PROTOCOL_SINCE,
    Stranger,
    join,
    stable_group,
    sync,
)
from tests.apis.kit import broker, stable
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k11_join_group import JoinGroupResponse
from trio_kafka.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse

VERSIONS = stable(SyncGroupRequest)


@pytest.mark.parametrize("version", VERSIONS)
async def test_each_member_receives_the_assignment_sent_by_the_leader(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        result: dict[str, SyncGroupResponse] = {}

        async def member() -> None:
            async with served.connect() as client:
                joined = await join(client)
                own = {member.member_id: member.member_id.encode() for member in joined.members}
                if own:
                    await trio.sleep(1)  # the others wait
                result[joined.member_id] = await sync(client, joined, own, version=version)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(member)

    named = version >= SYNC_PROTOCOL_SINCE
    assert len(result) == 3
    for member_id, answer in result.items():
        assert answer == SyncGroupResponse(
            protocol_type="consumer" if named else None,
            protocol_name="range" if named else None,
            assignment=member_id.encode(),
        )


@pytest.mark.parametrize("version", VERSIONS)
@STRANGERS
async def test_a_sync_of_an_unknown_group_member_or_generation_is_refused(
    autojump_clock: MockClock, version: int, stranger: Stranger
) -> None:
    async with broker() as served:
        who = JoinGroupResponse(
            generation_id=stranger.generation, member_id=await stranger.come(served)
        )

        answer = await sync(served, who, version=version, group=stranger.group)

    assert answer == SyncGroupResponse(error_code=stranger.code)


@pytest.mark.parametrize("unsaid", ["protocol_type", "protocol_name"])
async def test_a_sync_without_protocol_type_or_name_is_refused_since_version_5(
    autojump_clock: MockClock, unsaid: str
) -> None:
    async with broker() as served:
        who = JoinGroupResponse(generation_id=1, member_id="ghost")
        said: dict[str, Any] = {unsaid: None}

        answer = await sync(served, who, **said)

    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_sync_with_another_protocol_than_the_selected_one_is_refused(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        result = await stable_group(served)
        who = JoinGroupResponse(generation_id=1, member_id=result.members[0])

        answer = await sync(served, who, protocol_name="sticky")

    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_sync_while_the_group_is_loading_is_answered_load_in_progress(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        served.broker.groups.coordinator.shard_of(GROUP).state = ShardState.LOADING

        answer = await sync(served, JoinGroupResponse(generation_id=1, member_id="m"))

    assert answer == SyncGroupResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
