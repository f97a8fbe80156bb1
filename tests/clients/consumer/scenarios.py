"""Consumers and producers of ours at a broker process, for scenarios that both brokers pass."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import trio

from tests.clients.producer.test_scenarios import producer_of
from trio_kafka.clients import Consumer, ConsumerRecord, ProducerRecord, open_consumer
from trio_kafka.testing.processes import BrokerProcess

Bytes = Consumer[bytes | None, bytes | None]
Records = list[ConsumerRecord[bytes | None, bytes | None]]
TIMEOUT_S = 30.0
QUICK = {"heartbeat_interval_ms": 200}  # of classic members; the broker's of the others is short


def consumer_of(broker: BrokerProcess, **config: object) -> AbstractAsyncContextManager[Bytes]:
    """Open a consumer that begins at the start; `_` in the name of a setting stands for `.`."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    defaults = {
        "bootstrap.servers": broker.bootstrap,
        "auto.offset.reset": "earliest",
        "fetch.max.wait.ms": 20,  # `close` waits for the answer to the last Fetch
    }
    return open_consumer({**defaults, **named})


async def produce(
    broker: BrokerProcess, topic: str, values: Sequence[bytes], partition: int = 0
) -> None:
    """Write values to a partition."""
    async with producer_of(broker) as producer:
        for value in values:
            await producer.send(ProducerRecord(topic, value, partition=partition))


async def read(consumer: Bytes, count: int) -> Records:
    """Poll until so many records were read, or more."""
    records: Records = []
    with trio.fail_after(TIMEOUT_S):
        while len(records) < count:
            records += await consumer.poll(1.0)
    return records


async def poll_all(consumers: Sequence[Bytes], until: Callable[[], bool]) -> Records:
    """Poll consumers in turn until a condition holds; return what they have read."""
    records: Records = []
    with trio.fail_after(TIMEOUT_S):
        while not until():
            for consumer in consumers:
                records += await consumer.poll(0.05)
    return records


def values(records: Records) -> list[bytes | None]:
    """Return the values of records."""
    return [record.value for record in records]


def numbers(count: int, start: int = 0) -> list[bytes]:
    """Return so many values, each a number."""
    return [b"%d" % number for number in range(start, start + count)]
