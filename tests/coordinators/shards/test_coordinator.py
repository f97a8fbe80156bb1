"""Events of requests: answers of several shards as one."""

from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode


def names(groups: Groups, ticket: Ticket, _now_ms: int) -> Effects:
    return Effects().answer(ticket, sorted(groups.by_id))


async def test_event_for_many_groups_returns_a_result_or_error_for_each_group(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("a", "b", "c")
        for name in ("a", "b"):
            await commit(served, name, "t", 0, 7)
        groups = served.broker.groups
        groups.coordinator.shard_of("c").state = ShardState.LOADING

        first, second, error = groups.coordinator.ask_many(
            [(name, names) for name in ("a", "b", "c")], "OffsetFetch"
        )
        assert (first, second) == (["a"], ["b"])
        assert error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

        result = groups.coordinator.ask_everywhere(names, "OffsetFetch")
        assert sum(outcome == [] for outcome in result) == 47
        assert sorted(
            name for outcome in result if isinstance(outcome, list) for name in outcome
        ) == ["a", "b"]
