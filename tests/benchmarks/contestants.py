"""Kafka clients of Python that write or read the same records, each in a process of its own.

    python -m tests.benchmarks.contestants '{"client": "aiokafka", "way": "produce", ...}'

Prints µs of CPU of this process for each record, and records per second, as JSON. Measured from the
first record that was stored or read, as connections and imports are not of interest, to the last.
Each imports its own library only.
Settings are equal: acks=all, idempotent, linger 5 ms, batches of 16 kB, checksums checked.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import cycle, islice
from random import Random
from typing import Any, Final

import attrs
import trio
from attrs import define, frozen

from tests.benchmarks.text import text_like_logs
from tests.benchmarks.topics import client_settings
from trio_kafka.clients import ProducerRecord, open_consumer, open_producer
from trio_kafka.clients.consumer.consumer import Consumer
from trio_kafka.model import TopicPartition

_BATCH: Final = 16_384
_DIFFERENT: Final = 500  # values
_POLL_S: Final = 1.0
_SETTLED_S: Final = 2.0
WRITING: Final = ("produce", "many")  # ways, of which only ours has the second
Bytes = bytes | None


@frozen
class Job:
    """Work of a contestant: `count` records with values of `size` bytes."""

    client: str
    way: str
    bootstrap: str
    topic: str
    codec: str
    size: int
    count: int


@frozen
class Cost:
    """CPU of the client for a record in µs, and records per second."""

    cpu_us: float
    rate: float


@define
class Meter:
    """Clock between the first record and the last."""

    cpu: float = 0.0
    wall: float = 0.0

    def start(self) -> None:
        """Begin."""
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def cost(self, count: int) -> Cost:
        """Return the cost of what was done since."""
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        return Cost(cpu / count * 1e6, count / wall)


def values(job: Job) -> Iterator[bytes]:
    """Yield the values of all records."""
    random = Random(4)
    some = [text_like_logs(job.size, random) for _ in range(_DIFFERENT)]
    return islice(cycle(some), job.count)


# --- ours


def own_produce(job: Job) -> Cost:
    """Send record by record."""

    async def run() -> Cost:
        meter, all_values = Meter(), list(values(job))
        async with open_producer(_own_settings(job)) as producer:
            await (await producer.send(ProducerRecord(job.topic, b"first")))
            meter.start()
            for value in all_values:
                receipt = await producer.send(ProducerRecord(job.topic, value))
            await producer.flush()
            assert receipt.result().offset >= job.count
            return meter.cost(job.count)

    return trio.run(run)


def own_many(job: Job) -> Cost:
    """Send all records in one call."""

    async def run() -> Cost:
        meter, all_values = Meter(), list(values(job))
        async with open_producer(_own_settings(job)) as producer:
            await (await producer.send(ProducerRecord(job.topic, b"first")))
            meter.start()
            places = await (await producer.send_many(job.topic, all_values))
            assert sum(len(place.positions) for place in places) == job.count
            return meter.cost(job.count)

    return trio.run(run)


def _own_settings(job: Job) -> dict[str, object]:
    return {
        "bootstrap.servers": job.bootstrap,
        "compression.type": job.codec,
        "linger.ms": 5,
        "batch.size": _BATCH,
    }


def own_read(job: Job, read: Callable[[Consumer[Bytes, Bytes], Job, Meter], Any]) -> Cost:
    """Read the topic's partition from its beginning."""
    settings = {"bootstrap.servers": job.bootstrap, "auto.offset.reset": "earliest"}

    async def run() -> Cost:
        meter = Meter()
        async with open_consumer(settings) as consumer:
            consumer.assign([TopicPartition(job.topic, 0)])
            await consumer.position(TopicPartition(job.topic, 0))
            meter.start()
            await read(consumer, job, meter)
            return meter.cost(job.count)

    return trio.run(run)


async def _by_record(consumer: Consumer[Bytes, Bytes], job: Job, meter: Meter) -> None:
    del meter
    count = size = 0
    async for record in consumer:
        size += len(record.value or b"")
        count += 1
        if count == job.count:
            break


async def _by_poll(consumer: Consumer[Bytes, Bytes], job: Job, meter: Meter) -> None:
    del meter
    count = size = 0
    while count < job.count:
        records = await consumer.poll(_POLL_S)
        for record in records:
            size += len(record.value or b"")
        count += len(records)


async def _by_columns(consumer: Consumer[Bytes, Bytes], job: Job, meter: Meter) -> None:
    import pyarrow.compute as pc  # half a second of import in this way only

    count = size = 0
    async for batch in consumer.batches():
        for columns in batch.columns():
            if not count:
                meter.start()  # the first batch has imported numpy and the decoder
            size += pc.sum(pc.binary_length(columns["value"])).as_py()  # type: ignore[attr-defined]
            count += len(columns)  # type: ignore[arg-type]
        if count >= job.count:
            break


def own_idle(job: Job) -> Cost:
    """Wait for `count` seconds at the ends of `size` partitions: the cost is that of a second."""
    settings = {"bootstrap.servers": job.bootstrap, "auto.offset.reset": "latest"}
    places = [TopicPartition(job.topic, number) for number in range(job.size)]

    async def run() -> Cost:
        meter = Meter()
        async with open_consumer(settings) as consumer:
            consumer.assign(places)
            for at in places:
                await consumer.position(at)
            await consumer.poll(_SETTLED_S)
            meter.start()
            assert await consumer.poll(job.count) == []
            return meter.cost(job.count)

    return trio.run(run)


# --- others


def aiokafka_produce(job: Job) -> Cost:
    """Send record by record."""
    import aiokafka

    async def run() -> Cost:
        meter, all_values = Meter(), list(values(job))
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=job.bootstrap,
            compression_type=None if job.codec == "none" else job.codec,
            linger_ms=5,
            max_batch_size=_BATCH,
            enable_idempotence=True,
        )
        await producer.start()
        try:
            await producer.send_and_wait(job.topic, b"first")
            meter.start()
            for value in all_values:
                last = await producer.send(job.topic, value)
            await producer.flush()
            assert last.result().offset >= job.count
            return meter.cost(job.count)
        finally:
            await producer.stop()

    return asyncio.run(run())


def aiokafka_read(job: Job, *, many: bool) -> Cost:
    """Read record by record, or by `getmany`."""
    import aiokafka

    async def run() -> Cost:
        meter, count, size = Meter(), 0, 0
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=job.bootstrap, auto_offset_reset="earliest"
        )
        await consumer.start()
        at = aiokafka.TopicPartition(job.topic, 0)
        try:
            consumer.assign([at])
            await consumer.position(at)
            meter.start()
            if many:
                while count < job.count:
                    got = await consumer.getmany(timeout_ms=1000)
                    for records in got.values():
                        for record in records:
                            size += len(record.value)
                        count += len(records)
            else:
                async for record in consumer:
                    size += len(record.value)
                    count += 1
                    if count == job.count:
                        break
            return meter.cost(job.count)
        finally:
            await consumer.stop()

    return asyncio.run(run())


def kafka_python_produce(job: Job) -> Cost:
    """Send record by record; a thread of the client sends batches."""
    import kafka

    meter, all_values = Meter(), list(values(job))
    producer = kafka.KafkaProducer(
        bootstrap_servers=job.bootstrap,
        compression_type=None if job.codec == "none" else job.codec,
        linger_ms=5,
        batch_size=_BATCH,
        acks="all",
        enable_idempotence=True,
    )
    producer.send(job.topic, b"first").get(10)
    meter.start()
    for value in all_values:
        last = producer.send(job.topic, value)
    producer.flush()
    assert last.get(10).offset >= job.count
    cost = meter.cost(job.count)
    producer.close()
    return cost


def kafka_python_read(job: Job) -> Cost:
    """Read record by record."""
    import kafka

    meter, size = Meter(), 0
    consumer = kafka.KafkaConsumer(bootstrap_servers=job.bootstrap, auto_offset_reset="earliest")
    at = kafka.TopicPartition(job.topic, 0)
    consumer.assign([at])
    consumer.position(at)
    meter.start()
    for record in islice(consumer, job.count):
        size += len(record.value)
    cost = meter.cost(job.count)
    consumer.close()
    return cost


def confluent_produce(job: Job) -> Cost:
    """Send record by record; threads in C send batches."""
    import confluent_kafka

    meter, all_values = Meter(), list(values(job))
    producer = confluent_kafka.Producer(
        client_settings(
            job.bootstrap,
            **{
                "compression.type": job.codec,
                "linger.ms": 5,
                "batch.size": _BATCH,
                "enable.idempotence": True,
                "queue.buffering.max.messages": 2_000_000,
            },
        )
    )
    producer.produce(job.topic, b"first")
    producer.flush(10)
    meter.start()
    for number, value in enumerate(all_values):
        producer.produce(job.topic, value)
        if not number % 100:
            producer.poll(0)
    assert producer.flush(60) == 0
    return meter.cost(job.count)


def confluent_read(job: Job) -> Cost:
    """Read record by record, 500 from each call."""
    import confluent_kafka

    meter, count, size = Meter(), 0, 0
    consumer = confluent_kafka.Consumer(
        client_settings(
            job.bootstrap,
            **{"group.id": "bench", "enable.auto.commit": False, "check.crcs": True},
        )
    )
    consumer.assign([confluent_kafka.TopicPartition(job.topic, 0, 0)])
    meter.start()
    while count < job.count:
        records = consumer.consume(500, 1.0)
        for record in records:
            size += len(record.value())
        count += len(records)
    cost = meter.cost(job.count)
    consumer.close()
    return cost


CONTESTANTS: Final[Mapping[tuple[str, str], Callable[[Job], Cost]]] = {
    ("trio-kafka", "produce"): own_produce,
    ("trio-kafka", "many"): own_many,
    ("trio-kafka", "read"): lambda job: own_read(job, _by_record),
    ("trio-kafka", "poll"): lambda job: own_read(job, _by_poll),
    ("trio-kafka", "columns"): lambda job: own_read(job, _by_columns),
    ("trio-kafka", "idle"): own_idle,
    ("aiokafka", "produce"): aiokafka_produce,
    ("aiokafka", "read"): lambda job: aiokafka_read(job, many=False),
    ("aiokafka", "poll"): lambda job: aiokafka_read(job, many=True),
    ("kafka-python", "produce"): kafka_python_produce,
    ("kafka-python", "read"): kafka_python_read,
    ("confluent-kafka", "produce"): confluent_produce,
    ("confluent-kafka", "read"): confluent_read,
}


def main() -> None:
    job = Job(**json.loads(sys.argv[1]))
    print(json.dumps(attrs.asdict(CONTESTANTS[job.client, job.way](job))))


if __name__ == "__main__":
    main()
