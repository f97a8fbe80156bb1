"""ListGroups in all its versions."""

from collections.abc import Sequence

import pytest
from trio.testing import MockClock

from tests.apis.classic import GROUP, join_request, stable_group
from tests.apis.kit import broker, stable
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from trio_kafka.protocol.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from trio_kafka.testing.broker import ServedBroker

VERSIONS = stable(ListGroupsRequest)
STATES_SINCE, TYPES_SINCE = 4, 5


async def three_groups(served: ServedBroker) -> None:
    """A stable one, an empty one with somebody who is expected, one that only has offsets."""
    await stable_group(served)
    await served.serve_groups("expects", "offsets")
    await served.ask(join_request(9, group="expects"), 9)
    await served.create_topic("t")
    part = OffsetCommitRequestPartition(0, 5, -1, "")
    topic = OffsetCommitRequestTopic("t", partitions=[part])
    await served.ask(OffsetCommitRequest("offsets", topics=[topic]), 9)


async def listed(
    served: ServedBroker, states: Sequence[str] = (), types: Sequence[str] = ()
) -> set[str]:
    request = ListGroupsRequest(list(states), list(types))
    return {group.group_id for group in (await served.ask(request)).groups}


@pytest.mark.parametrize("version", VERSIONS)
async def test_all_groups_are_listed(autojump_clock: MockClock, version: int) -> None:
    async with broker() as served:
        await three_groups(served)
        answer = await served.ask(ListGroupsRequest(), version)

    def row(group: str, protocol_type: str, state: str) -> ListedGroup:
        return ListedGroup(
            group,
            protocol_type,
            state if version >= STATES_SINCE else "",
            "classic" if version >= TYPES_SINCE else "",
        )

    assert answer.error_code == 0
    assert sorted(answer.groups, key=lambda group: group.group_id) == [
        row("expects", "", "Empty"),
        row(GROUP, "consumer", "Stable"),
        row("offsets", "", "Empty"),
    ]


async def test_groups_are_filtered_by_state_and_type_case_insensitively(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await three_groups(served)

        assert await listed(served, ["stable"]) == {GROUP}
        assert await listed(served, [" EMPTY "]) == {"expects", "offsets"}
        assert await listed(served, ["empty", "Stable"], ["Classic"]) == {
            "expects",
            "offsets",
            GROUP,
        }
        assert await listed(served, types=["consumer"]) == set()
        assert await listed(served, ["Dead", "nonsense"]) == set()


async def test_a_loading_shard_makes_the_list_of_groups_an_error(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await three_groups(served)
        shard = served.broker.groups.coordinator.shard_of(GROUP)
        shard.state = ShardState.LOADING
        loading = await served.ask(ListGroupsRequest())
        shard.state = ShardState.UNLOADED
        elsewhere = await listed(served)

    assert loading == ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert GROUP not in elsewhere


async def test_a_broker_without_groups_returns_an_empty_list(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert await served.ask(ListGroupsRequest()) == ListGroupsResponse()
