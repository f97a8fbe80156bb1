"""Metrics of a producer, by Kafka's names."""

import pytest

from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.clients.errors import ClientError
from trio_kafka.testing.simulate import simulate


def values(client) -> dict[str, float]:
    return {
        name.name: value
        for name, value in client.metrics().items()
        if name.group == "producer-metrics"
    }


@simulate(seeds=2)
async def test_records_batches_and_requests_are_counted(sim):
    await sim.kafka.create_topic("t")
    config = {"bootstrap.servers": str(sim.lives.address), "linger.ms": 100}
    async with open_producer(config, world=sim.clients) as client:
        for _ in range(10):
            await client.send(ProducerRecord("t", bytes(100), partition=0))
        await client.flush()
        metrics = values(client)

    assert metrics["record-send-total"] == 10
    assert metrics["record-send-rate"] == pytest.approx(10 / 30, rel=0.1)
    assert 1000 < metrics["batch-size-avg"] == metrics["batch-size-max"] < 1500
    assert metrics["request-latency-avg"] > 0
    assert metrics["record-error-total"] == metrics["record-retry-total"] == 0
    assert metrics["buffer-available-bytes"] == metrics["buffer-total-bytes"] == 33554432
    assert metrics["requests-in-flight"] == metrics["waiting-threads"] == 0
    assert metrics["connection-count"] == metrics["connection-creation-total"] == 2
    assert metrics["incoming-byte-total"] > 100
    assert metrics["outgoing-byte-total"] > 1000


@simulate(seeds=1)
async def test_records_that_fail_are_errors(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "200"})
    config = {"bootstrap.servers": str(sim.lives.address)}
    async with open_producer(config, world=sim.clients) as client:
        with pytest.raises(ClientError):
            await (await client.send(ProducerRecord("t", bytes(1000))))
        metrics = values(client)

    assert (metrics["record-error-total"], metrics["record-send-total"]) == (1, 1)


@simulate(seeds=1)
async def test_time_in_the_queue_is_that_before_the_first_attempt(sim):
    await sim.kafka.create_topic("t")
    config = {"bootstrap.servers": str(sim.lives.address), "linger.ms": 2000}
    async with open_producer(config, world=sim.clients) as client:
        await (await client.send(ProducerRecord("t", b"1")))
        metrics = values(client)

    assert 2000 <= metrics["record-queue-time-max"] < 2300
