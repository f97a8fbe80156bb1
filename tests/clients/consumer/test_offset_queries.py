"""Questions about offsets: other attempts, their end, and errors that stay."""

import pytest
import trio

from tests.clients.consumer.kit import T0, T1, consumer_of
from trio_kafka.clients.consumer.offset_queries import offsets_at
from trio_kafka.clients.consumer.values import OffsetAndTimestamp
from trio_kafka.clients.errors import AuthorizationError, TimedOutError
from trio_kafka.testing.simulate import simulate


@simulate(seeds=1)
async def test_partition_whose_leader_has_moved_is_asked_for_again(sim):
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.produce("t", b"a", b"b")
    async with consumer_of(sim) as consumer:
        sim.kafka.fault(api="ListOffsets", error="NOT_LEADER_OR_FOLLOWER", times=2)
        ends = await consumer.end_offsets([T0, T1])

    assert sum(ends.values()) == 2
    assert set(ends) == {T0, T1}


@simulate(seeds=1)
async def test_answer_that_never_comes_is_an_error_with_the_last_failure_in_time(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim) as consumer:
        sim.kafka.fault(api="ListOffsets", error="NOT_LEADER_OR_FOLLOWER")
        start = trio.current_time()
        with pytest.raises(TimedOutError, match="no offsets within 5 s; the last failure"):
            await consumer.end_offsets([T0], timeout_s=5.0)
        assert trio.current_time() <= start + 5.0


@simulate(seeds=1)
async def test_error_that_stays_is_raised_at_once(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim) as consumer:
        sim.kafka.fault(api="ListOffsets", error="TOPIC_AUTHORIZATION_FAILED")
        with trio.fail_after(5), pytest.raises(AuthorizationError):
            await consumer.end_offsets([T0], timeout_s=60.0)


def test_bare_offsets_leave_out_partitions_without_one():
    assert offsets_at({T0: OffsetAndTimestamp(3, 10), T1: None}) == {T0: 3}
