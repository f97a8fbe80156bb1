"""Masked records as real clients read them: each parses and checks the batches that were made."""

import asyncio
import json
from typing import Any

import confluent_kafka
import pytest

from tests.lanes import sampled
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_builtin.mask.plugin import mask

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore"),
]  # clients' own

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPIC, COUNT = "people", 500
SETTINGS = {
    "plugin.mask.enabled": "true",
    "plugin.mask.rules": "people: ssn=redact card=last:4",
}
WRITTEN = [{"n": n, "ssn": f"078-05-{n:04}", "card": f"41110000{n:04}"} for n in range(COUNT)]
READ = [{"n": n, "ssn": "***", "card": f"********{n:04}"} for n in range(COUNT)]
Messages = list[tuple[int, Any]]


def write(bootstrap: str, codec: str) -> None:
    config = {"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 50}
    producer = confluent_kafka.Producer({**config, "enable.idempotence": True})
    for message in WRITTEN:
        producer.produce(TOPIC, json.dumps(message), partition=0)
    assert producer.flush(30) == 0


def read_with_confluent(bootstrap: str) -> Messages:
    config = {"bootstrap.servers": bootstrap, "group.id": "none", "check.crcs": True}
    consumer = confluent_kafka.Consumer(config)
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, 0)])
    messages = []
    while len(messages) < COUNT:
        messages += consumer.consume(COUNT, 5)
    consumer.close()
    return [(message.offset(), json.loads(message.value() or b"")) for message in messages]


def read_with_kafka_python(bootstrap: str) -> Messages:
    import kafka

    consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True)
    at = kafka.TopicPartition(TOPIC, 0)
    consumer.assign([at])
    consumer.seek_to_beginning(at)
    messages: list[Any] = []
    while len(messages) < COUNT:
        messages += consumer.poll(5000).get(at, [])
    consumer.close()
    return [(message.offset, json.loads(message.value)) for message in messages]


def read_with_aiokafka(bootstrap: str) -> Messages:
    import aiokafka

    async def read() -> Messages:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap, check_crcs=True)
        await consumer.start()
        try:
            at = aiokafka.TopicPartition(TOPIC, 0)
            consumer.assign([at])
            consumer.seek(at, 0)
            messages = [await consumer.getone(at) for _ in range(COUNT)]
        finally:
            await consumer.stop()
        return [(message.offset, json.loads(message.value)) for message in messages]

    return asyncio.run(read())


@pytest.mark.parametrize("codec", sampled(CODECS, lambda codec: codec in ("none", "lz4")))
@pytest.mark.kafka(settings=SETTINGS, topics=[TOPIC], plugins=[mask])
def test_every_client_reads_masked_records(codec: str, kafka: Kafka) -> None:
    write(kafka.bootstrap, codec)

    for read in (read_with_confluent, read_with_kafka_python, read_with_aiokafka):
        assert read(kafka.bootstrap) == list(enumerate(READ)), read.__name__
