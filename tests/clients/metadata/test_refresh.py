"""The task that refreshes metadata, in virtual time: waits, errors, rebootstrap."""

import pytest
import trio

from trio_kafka.clients.client import metadata_of, open_client
from trio_kafka.clients.errors import TimedOutError, TopicError
from trio_kafka.clients.metadata.refresh import bootstrap_node
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.protocol.messages.k03_metadata import MetadataResponse
from trio_kafka.testing.simulate import simulate


def metadata_at(sim, *addresses, **settings):
    servers = addresses or (str(sim.lives.address),)
    return metadata_of(ClientSettings(bootstrap_servers=servers, **settings), sim.clients)


def requests(sim, api="Metadata"):
    return len(sim.kafka.controls.recorder.requests(api))


@simulate(seeds=1)
async def test_topic_that_appears_later_is_waited_for(sim):
    async with open_client(metadata_at(sim), name="c") as client, trio.open_nursery() as nursery:

        async def create() -> None:
            await trio.sleep(3)
            await sim.kafka.create_topic("t")

        nursery.start_soon(create)
        topic = await client.metadata.wait_topic("t", timeout_s=30.0)

    assert topic.is_usable
    assert 3 < trio.current_time() < 6


@simulate(seeds=1)
async def test_topic_that_never_appears_is_an_error_in_time(sim):
    async with open_client(metadata_at(sim), name="c") as client:
        with pytest.raises(TopicError, match="the topic does not exist after 2 s"):
            await client.metadata.wait_topic("t", timeout_s=2.0)


@simulate(seeds=1)
async def test_topic_that_is_new_while_a_refresh_is_in_flight_is_asked_for_after_it(sim):
    for name in ("first", "second"):
        await sim.kafka.create_topic(name)
    async with open_client(metadata_at(sim), name="c") as client, trio.open_nursery() as nursery:

        async def wait(name: str) -> None:
            assert (await client.metadata.wait_topic(name, timeout_s=30.0)).is_usable

        with sim.kafka.controls.faults.add(FaultRule(api="Metadata", hold=True)) as fault:
            nursery.start_soon(wait, "first")
            await trio.sleep(1)
            nursery.start_soon(wait, "second")
            await trio.sleep(1)
            fault.release()

    assert trio.current_time() < 3


@simulate(seeds=1)
async def test_new_topic_waits_for_no_back_off_of_others(sim):
    for number in range(20):
        await sim.kafka.create_topic(f"t{number}")
    settings = {"retry_backoff_ms": 5000, "retry_backoff_max_ms": 60_000}
    async with open_client(metadata_at(sim, **settings), name="c") as client:
        with pytest.raises(TopicError, match="the topic does not exist"):
            await client.metadata.wait_topic("missing", timeout_s=20.0)
        start = trio.current_time()
        for number in range(20):
            await client.metadata.wait_topic(f"t{number}", timeout_s=30.0)

        assert trio.current_time() < start + 1


@simulate(seeds=1)
async def test_metadata_are_refreshed_at_their_age_and_not_before(sim):
    await sim.kafka.create_topic("t")
    async with open_client(metadata_at(sim, metadata_max_age_ms=60_000), name="c") as client:
        await client.metadata.wait_topic("t", timeout_s=5.0)
        sim.kafka.controls.recorder.start()
        await trio.sleep(55)
        assert requests(sim) == 0
        await trio.sleep(10)
        assert requests(sim) == 1


@simulate(seeds=1)
async def test_requested_refreshes_are_no_more_often_than_the_backoff_allows(sim):
    await sim.kafka.create_topic("t")
    async with open_client(metadata_at(sim, retry_backoff_ms=1000), name="c") as client:
        await client.metadata.wait_topic("t", timeout_s=5.0)
        sim.kafka.controls.recorder.start()
        for _ in range(100):
            client.metadata.request_refresh()
            await trio.sleep(0.1)
        assert 8 <= requests(sim) <= 13


@simulate(seeds=1)
async def test_second_bootstrap_address_is_used_if_the_first_is_dead(sim):
    await sim.kafka.create_topic("t")
    metadata = metadata_at(sim, "kafka:1", str(sim.lives.address))

    async with open_client(metadata, name="c") as client:
        assert (await client.metadata.wait_topic("t", timeout_s=10.0)).is_usable


@simulate(seeds=1)
async def test_brokers_that_are_lost_are_forgotten_after_the_trigger(sim):
    await sim.kafka.create_topic("t")
    metadata = metadata_at(sim, metadata_recovery_rebootstrap_trigger_ms=5000)
    async with open_client(metadata, name="c") as client:
        await metadata.wait_topic("t", timeout_s=5.0)
        await sim.kafka.stop()
        metadata.request_refresh()
        await trio.sleep(4)
        assert metadata.cache.brokers
        await trio.sleep(4)
        assert not metadata.cache.brokers
        await sim.kafka.start()
        assert await client.metadata.wait_broker() == 1


@simulate(seeds=1)
async def test_recovery_strategy_none_keeps_the_brokers_that_are_known(sim):
    await sim.kafka.create_topic("t")
    metadata = metadata_at(
        sim,
        metadata_recovery_rebootstrap_trigger_ms=1000,
        metadata_recovery_strategy="NONE",
    )
    async with open_client(metadata, name="c"):
        await metadata.wait_topic("t", timeout_s=5.0)
        await sim.kafka.stop()
        metadata.request_refresh()
        await trio.sleep(10)
        assert metadata.cache.brokers


@simulate(seeds=1)
async def test_broker_that_asks_for_it_is_answered_by_a_rebootstrap(sim):
    await sim.kafka.create_topic("t")
    metadata = metadata_at(sim)
    async with open_client(metadata, name="c"):
        await metadata.wait_topic("t", timeout_s=5.0)
        response = MetadataResponse(error_code=ErrorCode.REBOOTSTRAP_REQUIRED)
        rule = FaultRule(api="Metadata", respond=response, times=1)
        with sim.kafka.controls.faults.add(rule):
            metadata.request_refresh()
            await metadata.wait_change()
            assert not metadata.cache.brokers
        await metadata.wait_change()
        assert metadata.cache.brokers


@simulate(seeds=1)
async def test_answer_without_brokers_changes_nothing(sim):
    await sim.kafka.create_topic("t")
    metadata = metadata_at(sim)
    async with open_client(metadata, name="c"):
        await metadata.wait_topic("t", timeout_s=5.0)
        rule = FaultRule(api="Metadata", respond=MetadataResponse(), times=1)
        with sim.kafka.controls.faults.add(rule):
            metadata.request_refresh()
            await metadata.wait_change()
        assert metadata.cache.brokers
        assert metadata.cache.is_stale


@simulate(seeds=1)
async def test_unreachable_cluster_is_an_error_that_names_the_address(sim):
    async with open_client(metadata_at(sim, "kafka:1"), name="c") as client:
        with pytest.raises(TimedOutError, match=r"t: no metadata within 1 s; .*kafka:1"):
            await client.metadata.wait_topic("t", timeout_s=1.0)


@simulate(seeds=1)
async def test_bootstrap_addresses_are_nodes_with_negative_ids(sim):
    metadata = metadata_at(sim, "a:1", "b:2")

    assert [bootstrap_node(number) for number in range(2)] == [-1, -2]
    assert metadata.address_of(-2) == Endpoint("b", 2)
    assert metadata.address_of(-3) is None
    assert metadata.address_of(5) is None
    await trio.sleep(0)
