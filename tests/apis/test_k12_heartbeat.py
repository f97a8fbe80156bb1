"""Heartbeat in all its versions."""

import pytest
import trio
from trio.testing import MockClock

from tests.apis.classic import GROUP, STRANGERS, Stranger, join, stable_group
from tests.apis.kit import broker, stable
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest

VERSIONS = stable(HeartbeatRequest)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_member_stays_in_its_group_while_heartbeats_arrive_in_time(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        group = await stable_group(served)
        beat = HeartbeatRequest(GROUP, group.generation, group.members[0])
        for _ in range(3):
            await trio.sleep(9)
            assert (await served.ask(beat, version)).error_code == 0
        await trio.sleep(11)

        assert (await served.ask(beat, version)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", VERSIONS)
@STRANGERS
async def test_a_heartbeat_of_an_unknown_group_member_or_generation_is_refused(
    autojump_clock: MockClock, version: int, stranger: Stranger
) -> None:
    async with broker() as served:
        request = HeartbeatRequest(stranger.group, stranger.generation, await stranger.come(served))

        assert (await served.ask(request, version)).error_code == stranger.code


async def test_a_heartbeat_during_a_rebalance_is_answered_rebalance_in_progress(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        group = await stable_group(served)
        async with trio.open_nursery() as nursery, served.connect() as client:
            nursery.start_soon(join, client)
            await trio.sleep(1)
            beat = HeartbeatRequest(GROUP, group.generation, group.members[0])

            answer = await served.ask(beat)
            await trio.sleep(60)

    assert answer.error_code == ErrorCode.REBALANCE_IN_PROGRESS


async def test_heartbeats_succeed_while_the_group_is_loading(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        served.broker.groups.coordinator.shard_of(GROUP).state = ShardState.LOADING

        assert (await served.ask(HeartbeatRequest(GROUP, 1, "m"))).error_code == 0
