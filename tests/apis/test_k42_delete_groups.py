"""DeleteGroups in all its versions."""

from types import SimpleNamespace

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, join_request, stable_group
from tests.apis.kit import broker, stable
from tests.apis.test_k16_list_groups import listed, three_groups
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.pending import Work
from trio_kafka.protocol.messages.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
)
from trio_kafka.requests.context import Context
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k42_delete_groups import delete_groups


@pytest.mark.parametrize("version", stable(DeleteGroupsRequest))
async def test_groups_without_members_are_deleted_with_their_offsets(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await three_groups(served)
        await served.serve_groups("none")
        request = DeleteGroupsRequest(["offsets", GROUP, "none", "offsets", "expects"])
        answer = await served.ask(request, version)

        assert answer.results == [
            DeletableGroupResult("offsets", 0),
            DeletableGroupResult(GROUP, ErrorCode.NON_EMPTY_GROUP),
            DeletableGroupResult("none", ErrorCode.GROUP_ID_NOT_FOUND),
            DeletableGroupResult("expects", 0),
        ]
        assert await listed(served) == {GROUP}
        assert not served.broker.groups.coordinator.shard_of("offsets").machine.offsets.of_group(
            "offsets"
        )


async def test_deleted_groups_stay_deleted_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await three_groups(served)
        await served.ask(DeleteGroupsRequest(["offsets", "expects"]))

    async with served_broker(world) as served:
        await served.serve_groups("offsets", "expects", GROUP)
        assert await listed(served) == {GROUP}


async def test_a_member_id_assigned_before_the_deletion_is_unknown_afterwards(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.serve_groups(GROUP)
        pending = await served.ask(join_request(9), 9)
        await served.ask(DeleteGroupsRequest([GROUP]))
        answer = await served.ask(join_request(9, pending.member_id), 9)

    assert pending.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_loading_group_is_not_deleted(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await stable_group(served)
        served.broker.groups.coordinator.shard_of(GROUP).state = ShardState.LOADING
        (row,) = (await served.ask(DeleteGroupsRequest([GROUP]))).results

    assert row.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize("count", [99, 500])
async def test_many_groups_are_deleted_in_steps(autojump_clock: MockClock, count: int) -> None:
    async with broker() as served:
        await served.serve_groups("g")
        names = [f"g{number}" for number in range(count)]
        network_request = SimpleNamespace(code=42 << 16 | 2)
        context = Context(network_request, served.broker.parts, 2)  # type: ignore[arg-type]
        outcome = delete_groups(DeleteGroupsRequest(names), context)
        pauses = 0
        if isinstance(outcome, Work):
            pauses = sum(1 for _ in outcome.steps)
        answer = await served.ask(DeleteGroupsRequest(names), 2)

    assert [result.group_id for result in answer.results] == names
    assert pauses >= (0 if count < 100 else (count - 100) // 10)
