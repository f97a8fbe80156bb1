"""Run of `bench latency`: one record after the other, from `send` until a consumer has it."""

import time
from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.cli.bench.measurement import Measurement
from trio_kafka.cli.bench.payloads import payloads
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.clients.consumer.opening import open_consumer
from trio_kafka.clients.errors import Place, TimedOutError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.model import TopicPartition

_WARM_UP: Final = 20


@frozen(kw_only=True)
class LatencyPlan:
    """Load of a latency run. settings: of producer and consumer. timeout_s: for one record."""

    producer: Mapping[str, object]
    consumer: Mapping[str, object]
    topic: str
    records: int
    size: int
    timeout_s: float


async def measure_latency(plan: LatencyPlan) -> Measurement:
    """Send each record when the one before has come back. Raises ClientError.

    Other writers of the topic do not disturb: a record is known by its partition and offset.
    """
    measurement = Measurement(records=plan.records, bytes=plan.records * plan.size)
    values = payloads(plan.size)
    async with open_producer(plan.producer) as producer, open_consumer(plan.consumer) as consumer:
        numbers = await consumer.partitions_of(plan.topic)
        partitions = [TopicPartition(plan.topic, number) for number in numbers]
        consumer.assign(partitions)
        consumer.seek_to_end(partitions)
        for at in partitions:
            await consumer.position(at)  # the end is known before the first record is sent
        began, cpu = time.perf_counter(), time.process_time()
        for number in range(-_WARM_UP, plan.records):
            if not number:
                began, cpu = time.perf_counter(), time.process_time()
            sent = time.perf_counter()
            record = ProducerRecord[bytes, bytes | None](plan.topic, values[number % len(values)])
            place = await (await producer.send(record))
            at = TopicPartition(place.topic, place.partition)
            await _wait_record(consumer, at, place.offset, timeout_s=plan.timeout_s)
            if number >= 0:
                measurement.latencies_ms.append((time.perf_counter() - sent) * 1e3)
        measurement.seconds = time.perf_counter() - began
        measurement.cpu_seconds = time.process_time() - cpu
    return measurement


async def _wait_record(
    consumer: Consumer[bytes | None, bytes | None],
    at: TopicPartition,
    offset: int,
    *,
    timeout_s: float,
) -> None:
    """Read until the record has come. Raises TimedOutError."""
    with trio.move_on_after(timeout_s):
        while True:
            for record in await consumer.poll(timeout_s):
                if (record.partition, record.offset) == (at.partition, offset):
                    return
    place = Place(topic=at.topic, partition=at.partition)
    raise TimedOutError(f"the record at offset {offset} was not read", place=place)


def runner(plan: LatencyPlan) -> Measurement:
    """Run in a loop of its own."""
    return trio.run(measure_latency, plan)
