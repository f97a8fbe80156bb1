"""Metrics of a client on their way to our broker, in virtual time."""

import trio

from tests.apis.configs import METRICS, SET, changes_of
from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.protocol.messages.k44_incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
)
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
)
from trio_kafka.telemetry.client_telemetry import ClientTelemetry
from trio_kafka.testing.scripted_client import connected, newest
from trio_kafka.testing.simulate import simulate

SENT = "org.apache.kafka.producer.record.send.total"


async def ask(sim, request):
    async with connected(sim.clients, sim.lives.address) as client:
        return await client.ask(request, newest(type(request)))


async def subscribe(sim, *settings: tuple[str, str]) -> None:
    changes = [(name, SET, text) for name, text in settings]
    request = IncrementalAlterConfigsRequest([changes_of(METRICS, "mine", *changes)])
    answer = await ask(sim, request)
    assert answer.responses[0].error_code == 0


def pushed(sim) -> dict[str, float]:
    """Values by name, of the only client that has pushed."""
    (client,) = [
        client for client in sim.lives.broker.parts[ClientTelemetry].instances if client.pushes
    ]
    return {name: point.value for (name, _), point in client.values.items()}


def producer(sim, **settings: object):
    config = {"bootstrap.servers": str(sim.lives.address), "client.id": "orders-1", **settings}
    return open_producer(config, world=sim.clients)


@simulate(seeds=2)
async def test_records_are_pushed_at_the_interval_and_once_more_at_the_end(sim):
    await sim.kafka.create_topic("t")
    await subscribe(sim, ("metrics", "org.apache.kafka.producer."), ("interval.ms", "10000"))

    async with producer(sim) as client:
        await (await client.send(ProducerRecord("t", b"1")))
        await trio.sleep(16)
        first = pushed(sim)
        await (await client.send(ProducerRecord("t", b"2")))
    last = pushed(sim)

    assert first[SENT] == 1
    assert last[SENT] == 2
    assert last["org.apache.kafka.producer.batch.size.avg"] > 0


@simulate(seeds=1)
async def test_client_that_is_switched_off_asks_for_nothing(sim):
    await subscribe(sim, ("metrics", "*"))

    async with producer(sim, **{"enable.metrics.push": "false"}):
        await trio.sleep(1)

    assert len(sim.lives.broker.parts[ClientTelemetry].instances) == 0


@simulate(seeds=1)
async def test_changed_subscription_is_in_force_after_one_interval(sim):
    await sim.kafka.create_topic("t")
    await subscribe(sim, ("metrics", "org.apache.kafka.consumer."), ("interval.ms", "1000"))

    async with producer(sim) as client:
        await (await client.send(ProducerRecord("t", b"1")))
        await trio.sleep(3)
        await subscribe(sim, ("metrics", "org.apache.kafka.producer.record"))
        await trio.sleep(3)
        values = pushed(sim)

    assert values[SENT] == 1
    assert all(name.startswith("org.apache.kafka.producer.record") for name in values)


@simulate(seeds=1)
async def test_end_of_a_client_does_not_wait_for_a_broker_that_is_gone(sim):
    await subscribe(sim, ("metrics", "*"), ("interval.ms", "1000"))

    async with producer(sim):
        await trio.sleep(3)
        await sim.kafka.kill()
        start = trio.current_time()

    assert trio.current_time() - start < 2.5


@simulate(seeds=1)
async def test_pushed_metrics_are_described_by_the_broker(sim):
    await subscribe(sim, ("metrics", "*"), ("interval.ms", "1000"))

    async with producer(sim, **{"transactional.id": "tx"}):
        await trio.sleep(3)
        answer = await ask(sim, DescribeClientMetricsRequest(client_id="orders-1"))

    (client,) = answer.clients
    assert client.pushes >= 1
    assert ("transactional_id", "tx") in [(row.name, row.value) for row in client.labels]
    assert ("client_software_name", "trio-kafka") in [
        (row.name, row.value) for row in client.labels
    ]
