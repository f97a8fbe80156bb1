"""librdkafka writing and reading: what a user sees. With small values the client is the limit.

acks=all, linger 5 ms, batches of 1 MB.
"""

import time
from random import Random

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.benchmarks.figures import Figures
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.text import text_like_logs
from tests.benchmarks.topics import client_settings, watermarks

_AHEAD = 32_000_000  # bytes in the producer's queue


@row("client-100B", size=100, codec="none")
@row("client-1KiB", size=1024, codec="none")
@row("client-10KiB", size=10_240, codec="none")
@row("client-100B-lz4", size=100, codec="lz4")
@row("client-1KiB-lz4", size=1024, codec="lz4")
@row("client-10KiB-lz4", size=10_240, codec="lz4")
def client(target: Target, size: int, codec: str) -> Figures:
    random = Random(4)
    values = [text_like_logs(size, random) for _ in range(max(200, 200_000 // size))]
    with target.topic(much=1 << 20) as topic:
        return {**produce(target, topic, values, codec), **consume(target, topic, size)}


def produce(target: Target, topic: str, values: list[bytes], codec: str) -> Figures:
    failures: list[KafkaError] = []
    settings = {
        "acks": "all",
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "compression.type": codec,
        "queue.buffering.max.messages": 2_000_000,
        "error_cb": failures.append,
    }
    producer = Producer(client_settings(target.broker.bootstrap, **settings))
    producer.list_topics(topic, timeout=10)
    messages = [{"value": value} for value in values]
    size = sum(map(len, values))
    ahead = max(len(messages), _AHEAD // len(values[0]))
    rounds = 0
    with target.meter() as meter:
        end = time.perf_counter() + target.seconds
        while time.perf_counter() < end and rounds * size < target.limit:
            producer.produce_batch(topic, messages, partition=0)
            rounds += 1
            while len(producer) > ahead:
                producer.poll(0.005)
        unacknowledged = producer.flush(30)
    if unacknowledged:
        raise TimeoutError(f"{unacknowledged} records not acknowledged: {failures[:1]}")
    return meter.transfer("produce", rounds * size)


def consume(target: Target, topic: str, size: int) -> Figures:
    low, high = watermarks(target.broker.bootstrap, topic)
    settings = {
        "group.id": "bench",
        "enable.auto.commit": False,
        # Enough is read ahead that the broker is measured, not the client's pause of a second.
        "queued.min.messages": 1_000_000,
        "queued.max.messages.kbytes": 1_000_000,
        "fetch.queue.backoff.ms": 2,
    }
    consumer = Consumer(client_settings(target.broker.bootstrap, **settings))
    try:
        consumer.assign([TopicPartition(topic, 0, low)])
        count = len(consumer.consume(1, timeout=20))
        with target.meter() as meter:
            end = time.perf_counter() + target.seconds
            while low + count < high and time.perf_counter() < end:
                got = consumer.consume(min(2000, high - low - count), timeout=2)
                if not got:
                    raise TimeoutError(f"{count} of {high - low} records")
                count += len(got)
    finally:
        consumer.close()
    return meter.transfer("consume", count * size)
