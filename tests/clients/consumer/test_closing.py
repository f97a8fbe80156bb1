"""Closing never hangs: with a dead broker, one that does not answer, and in each state."""

import pytest
import trio

from tests.clients.consumer.kit import T0, consumer_of
from trio_kafka.testing.simulate import simulate

PROTOCOLS = ["consumer", "classic"]


async def nothing(sim, consumer):
    await trio.sleep(0)


async def joined(sim, consumer):
    consumer.subscribe(["t"])
    with trio.fail_after(60):
        while not consumer.assignment:
            await consumer.poll(0.1)


async def joining(sim, consumer):
    consumer.subscribe(["t"])
    await consumer.poll(0.0)


async def dead(sim, consumer):
    await joined(sim, consumer)
    await sim.kafka.produce("t", b"a")
    await consumer.poll(5.0)
    await sim.kafka.kill()


async def silent(sim, consumer):
    await joined(sim, consumer)
    await sim.kafka.produce("t", b"a")
    await consumer.poll(5.0)
    sim.kafka.fault(drop=True)


async def unreachable(sim, consumer):
    await sim.kafka.kill()
    consumer.subscribe(["t"])
    assert await consumer.poll(3.0) == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("state", [nothing, joining, joined, dead, silent, unreachable])
def test_close_ends_within_its_deadline_when_the_consumer_is(state, protocol):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with consumer_of(
            sim, group_id="g", group_protocol=protocol, close_timeout_s=5.0
        ) as consumer:
            await state(sim, consumer)
            start = trio.current_time()
        assert trio.current_time() - start <= 5.1
        if state is joined:
            assert not (await sim.kafka.group("g")).members

    run()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_cancelled_block_with_a_silent_broker_ends_after_a_few_seconds(protocol):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        with trio.CancelScope() as scope:
            async with consumer_of(sim, group_id="g", group_protocol=protocol) as consumer:
                await silent(sim, consumer)
                start = trio.current_time()
                scope.cancel()
                await consumer.poll(60.0)
        assert trio.current_time() - start <= 3.1

    run()


@simulate(seeds=1)
async def test_exception_of_the_block_leaves_it_and_commits_nothing(sim):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a")

    with pytest.raises(LookupError, match="mine"):
        async with consumer_of(sim, group_id="g", group_protocol="consumer") as consumer:
            consumer.subscribe(["t"])
            async for _ in consumer:
                raise LookupError("mine")
    async with consumer_of(sim, group_id="g", group_protocol="consumer") as consumer:
        assert await consumer.committed([T0]) == {T0: None}
    assert not (await sim.kafka.group("g")).members


@simulate(seeds=1)
async def test_member_that_waits_for_others_to_join_leaves_its_group_at_once(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim, group_id="g", group_protocol="classic") as first:
        await joined(sim, first)
        async with consumer_of(sim, group_id="g", group_protocol="classic") as second:
            second.subscribe(["t"])
            await second.poll(2.0)  # the first one reads no more, so it does not join again
            assert len((await sim.kafka.group("g")).members) == 2
            start = trio.current_time()

        assert trio.current_time() - start < 1.0
        (member,) = (await sim.kafka.group("g")).members
        assert member.client_id == first.settings.client_id
