"""Turns of the reading task: one read at a time, waits for positions, the end."""

import pytest
import trio

from tests.clients.consumer.kit import T0, consumer_of
from trio_kafka.clients.errors import ClosedError, TimedOutError
from trio_kafka.testing.simulate import simulate


@simulate(seeds=1)
async def test_reads_of_two_tasks_exclude_one_another_in_each_way(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim) as consumer:
        consumer.assign([T0])
        async with consumer.partitions():
            for call in (consumer.poll, consumer.next_batch, consumer.__anext__):
                with pytest.raises(RuntimeError, match="another task reads"):
                    await call()
        assert await consumer.poll(0.1) == []


@simulate(seeds=1)
async def test_wait_for_a_position_ends_when_it_is_found_and_in_time_if_it_is_not(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a")
    async with consumer_of(sim, auto_offset_reset="latest") as consumer:
        held = sim.kafka.fault(api="ListOffsets", hold=True)
        consumer.assign([T0])
        start = trio.current_time()
        with pytest.raises(TimedOutError, match="no position within 2 s"):
            await consumer.position(T0, timeout_s=2.0)
        assert trio.current_time() == start + 2.0
        held.release()
        assert await consumer.position(T0, timeout_s=10.0) == 1


@simulate(seeds=1)
async def test_task_that_reads_when_the_consumer_is_closed_gets_an_error(sim):
    await sim.kafka.create_topic("t")
    async with trio.open_nursery() as nursery:

        async def loop() -> None:
            with pytest.raises(ClosedError):
                async for _ in consumer:
                    pass

        async with consumer_of(sim) as consumer:
            consumer.assign([T0])
            nursery.start_soon(loop)
            await trio.sleep(1.0)
    with pytest.raises(ClosedError):
        await consumer.poll()
