"""The wall clock jumps while groups work: sessions are counted by the other one."""

import pytest
import trio
from attrs import define
from trio.testing import MockClock

from tests.apis.classic import GROUP, join, stable_group, sync
from tests.apis.test_k08_offset_commit import stored
from tests.apis.test_k09_offset_fetch import commit
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.simulated.world import SimulatedClock

DAY_S = 86_400.0
JUMPS = pytest.mark.parametrize("jump_s", [3 * DAY_S, -365 * DAY_S, 0.0])
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID


@define(eq=False, init=False)
class JumpingClock(SimulatedClock):
    """The wall shows what it likes."""

    ahead_s: float

    def __init__(self) -> None:
        super().__init__()
        self.ahead_s = 0.0

    def wall(self) -> float:
        return super().wall() + self.ahead_s


def joining(member: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        "new",
        member,
        0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


@JUMPS
async def test_session_timeouts_of_members_ignore_jumps_of_the_wall_clock(
    autojump_clock: MockClock, jump_s: float
) -> None:
    world = simulated_world()
    world.clock = clock = JumpingClock()
    async with served_broker(world) as served:
        await served.create_topic("t", 2)
        await served.serve_groups("new", "alone")
        group = await stable_group(served)
        beat = HeartbeatRequest(GROUP, group.generation, group.members[0])
        first = await served.ask(joining("one"), 1)
        await commit(served, "alone", "t", 0, 7)

        clock.ahead_s = jump_s
        await trio.sleep(9)
        assert (await served.ask(beat)).error_code == 0
        await trio.sleep(9)
        assert (await served.ask(beat)).error_code == 0
        await trio.sleep(26)  # 44 of 45 seconds
        live = ConsumerGroupHeartbeatRequest("new", "one", first.member_epoch)
        assert (await served.ask(live, 1)).error_code == 0
        assert (await served.ask(beat)).error_code == UNKNOWN
        await trio.sleep(46)
        assert (await served.ask(live, 1)).error_code == UNKNOWN
        assert stored(served, "alone", "t", 0) == 7


@JUMPS
async def test_rebalances_ignore_jumps_of_the_wall_clock(
    autojump_clock: MockClock, jump_s: float
) -> None:
    world = simulated_world()
    world.clock = clock = JumpingClock()
    async with served_broker(world) as served:
        await served.create_topic("t", 2)
        await served.serve_groups("new")
        await stable_group(served)
        await served.ask(joining("one"), 1)
        clock.ahead_s = jump_s

        await trio.sleep(11)  # the member of the classic group is gone
        joined = await join(served)
        synced = await sync(served, joined, {joined.member_id: b"all"})
        assert (joined.error_code, synced.assignment) == (0, b"all")
        assert await both_have_one(served)


async def both_have_one(served: ServedBroker) -> bool:
    """A second member of the consumer group has what the first one gives back."""
    second = await served.ask(joining("two"), 1)
    await trio.sleep(1)
    first = await served.ask(ConsumerGroupHeartbeatRequest("new", "one", 2), 1)
    assert first.assignment is not None
    (kept,) = first.assignment.topic_partitions
    await served.ask(ConsumerGroupHeartbeatRequest("new", "one", 2, topic_partitions=[kept]), 1)
    second = await served.ask(ConsumerGroupHeartbeatRequest("new", "two", second.member_epoch), 1)
    (got,) = second.assignment.topic_partitions
    return sorted([*kept.partitions, *got.partitions]) == [0, 1]
