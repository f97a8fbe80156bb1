"""The link to a group's coordinator, in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import observed, wait_assigned
from tests.clients.consumer.kit import T0, consumer_of
from trio_kafka.clients import OffsetAndMetadata
from trio_kafka.clients.errors import AuthorizationError, RetriableError, TimedOutError
from trio_kafka.testing.simulate import simulate

GROUP = {"group_id": "g"}
OFFSETS = {T0: OffsetAndMetadata(1)}


@simulate(seeds=1)
async def test_coordinator_is_looked_for_once_and_again_when_it_has_moved(sim):
    await sim.kafka.create_topic("t")
    finds = observed(sim, "FindCoordinator")

    async with consumer_of(sim, **GROUP) as consumer:
        await consumer.commit(OFFSETS)  # the first answer is late: the topic of offsets is created
        before = len(finds)
        await consumer.commit(OFFSETS)
        assert len(finds) == before
        sim.kafka.fault(api="OffsetCommit", error="NOT_COORDINATOR", times=1)
        await consumer.commit(OFFSETS)
        assert len(finds) == before + 1
        sim.kafka.fault(api="OffsetCommit", disconnect="before", times=1)
        await consumer.commit(OFFSETS)
        assert len(finds) == before + 2
        await sim.kafka.kill()
        await sim.kafka.restart()
        await consumer.commit(OFFSETS)
    assert {(find.key, find.key_type) for find in finds} == {("g", 0)}


@simulate(seeds=1)
async def test_coordinator_that_is_not_available_is_asked_for_until_the_deadline(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **GROUP) as consumer:
        rejected = sim.kafka.fault(
            api="FindCoordinator", error="COORDINATOR_NOT_AVAILABLE", times=3
        )
        await consumer.commit(OFFSETS)
        assert rejected.hits == 3
        consumer.group.commits.coordinator.moved()
        start = trio.current_time()
        with (
            sim.kafka.fault(api="FindCoordinator", error="COORDINATOR_NOT_AVAILABLE"),
            pytest.raises(TimedOutError, match="no coordinator of group 'g' in time"),
        ):
            await consumer.commit(OFFSETS, timeout_s=3.0)
        assert trio.current_time() - start == pytest.approx(3.0, abs=0.1)


@simulate(seeds=1)
async def test_coordinator_that_the_user_may_not_ask_is_an_error_at_once(sim):
    await sim.kafka.create_topic("t")

    for protocol in ("classic", "consumer"):
        async with consumer_of(sim, **GROUP, group_protocol=protocol) as consumer:
            refused = sim.kafka.fault(api="FindCoordinator", error="GROUP_AUTHORIZATION_FAILED")
            with refused:
                with pytest.raises(AuthorizationError):
                    await consumer.commit(OFFSETS)
                consumer.subscribe(["t"])
                with pytest.raises(AuthorizationError):
                    await consumer.poll(60.0)
            consumer.subscribe(["t"])  # the user asks again
            await wait_assigned(consumer, 1)


@simulate(seeds=1)
async def test_silent_coordinator_is_an_error_within_the_deadline_and_another_one_is_looked_for(
    sim,
):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **GROUP) as consumer:
        await consumer.commit(OFFSETS)
        silent = sim.kafka.fault(drop=True)
        start = trio.current_time()
        with silent, pytest.raises(RetriableError):
            await consumer.commit(OFFSETS, timeout_s=4.0)
        assert trio.current_time() - start <= 4.1
        await consumer.commit(OFFSETS)


@simulate(seeds=1)
async def test_heartbeats_go_over_another_connection_than_fetches(sim):
    """A broker serves a connection in turn: behind a long Fetch a heartbeat would be late."""
    await sim.kafka.create_topic("t")
    clients = []

    def note(request, context):
        clients.append(context.peer)
        return True

    sim.kafka.fault(api=["Fetch", "Heartbeat"], observe=True, where=note)
    async with consumer_of(sim, **GROUP, fetch_max_wait_ms=20_000) as consumer:
        consumer.subscribe(["t"])
        beats = observed(sim, "Heartbeat")
        await consumer.poll(15.0)
        assert len(beats) >= 4

    assert len(set(clients)) == 2
