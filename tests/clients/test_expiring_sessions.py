"""Clients under load whose sessions end every two seconds (`connections.max.reauth.ms`, KIP-368).

Java, librdkafka and kafka-python renew a session on its connection, our clients on a new one.
aiokafka does not renew: the broker closes its connection, and it sends again what had no answer.
"""

import asyncio
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest
import trio
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.driver import Driver
from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.network.authentication.phase import AuthenticationCounts
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    from kafka import KafkaProducer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

SESSION: Final = {"connections.max.reauth.ms": "2000"}
TIMEOUT_S: Final = 60
PAUSE_S: Final = 0.01
Size = Callable[[int, int], int]
Write = Callable[[Kafka, float], int]


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    """A broker with short sessions."""
    topics = ["java", "confluent", "kafka-python", "aiokafka", "trio"]
    with running_broker(SESSION, topics=topics, tls=True, users={"ann": "secret"}) as kafka:
        yield kafka


def counts(kafka: Kafka) -> AuthenticationCounts:
    """Sums of the listeners with SASL."""
    total = AuthenticationCounts()
    for plane in kafka.broker.parts.planes:
        for processor in plane.processors:
            if processor.authentication is not None:
                some = processor.authentication.counts
                total.succeeded += some.succeeded
                total.renewed += some.renewed
                total.failed_renewals += some.failed_renewals
                total.expired += some.expired
    return total


def test_java_renews_its_sessions_under_load_without_a_lost_answer(
    kafka: Kafka, drivers: Callable[[Client], Driver], size: Size, tmp_path: Path
) -> None:
    driver = drivers(CLIENTS["java"])
    ca = tmp_path / "ca.pem"
    ca.write_text(kafka.client_config("ann")["ssl.ca.pem"])
    login = {"ca": str(ca), "mechanism": "SCRAM-SHA-256", "user": "ann", "password": "secret"}

    result = driver.ask(
        "load", bootstrap=kafka.bootstrap, topic="java", login=login, ms=size(4000, 60_000)
    )

    assert result["failed"] == 0
    assert result["acknowledged"] == result["read"] == result["sent"] > 0
    assert result["producer_renewals"] >= 1
    assert result["consumer_renewals"] >= 1
    seen = counts(kafka)
    assert (seen.expired, seen.failed_renewals) == (0, 0)
    assert seen.renewed >= result["producer_renewals"] + result["consumer_renewals"]


def write_by_confluent(kafka: Kafka, seconds: float) -> int:
    """Write numbers for a time, and return how many. Raises an error of the first that fails."""
    errors: list[object] = []
    producer = Producer(
        {**kafka.client_config("ann"), "retries": 0, "enable.idempotence": False, "linger.ms": 0}
    )
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        producer.produce(
            "confluent",
            str(number),
            on_delivery=lambda error, _: None if error is None else errors.append(error),
        )
        number += 1
        producer.poll(PAUSE_S)
    assert producer.flush(TIMEOUT_S) == 0
    assert errors == []
    return number


def write_by_kafka_python(kafka: Kafka, seconds: float) -> int:
    producer = KafkaProducer(**kafka.client_config("ann", client="kafka_python"))
    end, sent = time.monotonic() + seconds, list[Any]()
    while time.monotonic() < end:
        sent.append(producer.send("kafka-python", str(len(sent)).encode()))
        time.sleep(PAUSE_S)  # paces a client in a thread of its own
    for future in sent:
        future.get(TIMEOUT_S)
    producer.close()
    return len(sent)


def write_by_aiokafka(kafka: Kafka, seconds: float) -> int:
    async def write() -> int:
        producer = AIOKafkaProducer(**kafka.client_config("ann", client="aiokafka"))
        await producer.start()
        try:
            end, sent = time.monotonic() + seconds, list[Any]()
            while time.monotonic() < end:
                sent.append(await producer.send("aiokafka", str(len(sent)).encode()))
                await asyncio.sleep(PAUSE_S)
            await asyncio.wait_for(asyncio.gather(*sent), TIMEOUT_S)
            return len(sent)
        finally:
            await producer.stop()

    return asyncio.run(write())


def write_by_trio(kafka: Kafka, seconds: float) -> int:
    async def write() -> int:
        config = kafka.client_config("ann", client="trio_kafka")
        end, receipts = time.monotonic() + seconds, list[Any]()
        async with open_producer(config) as producer:
            while time.monotonic() < end:
                value = str(len(receipts)).encode()
                receipts.append(await producer.send(ProducerRecord("trio", value)))
                await trio.sleep(PAUSE_S)
            for receipt in receipts:
                with trio.fail_after(TIMEOUT_S):
                    await receipt.wait()
        return len(receipts)

    return trio.run(write)


WRITERS: Final[dict[str, Write]] = {
    "confluent": write_by_confluent,
    "kafka-python": write_by_kafka_python,
    "aiokafka": write_by_aiokafka,
    "trio": write_by_trio,
}


def test_other_clients_lose_no_record_whose_session_ends_while_they_write(
    kafka: Kafka, size: Size
) -> None:
    with ThreadPoolExecutor(len(WRITERS)) as threads:
        runs = {
            topic: threads.submit(write, kafka, size(4, 60)) for topic, write in WRITERS.items()
        }
    written = {topic: run.result() for topic, run in runs.items()}

    for topic, count in written.items():
        values = [int(record.value or b"-1") for record in kafka.records(topic)]
        assert sorted(set(values)) == list(range(count)), topic
    seen = counts(kafka)
    assert seen.failed_renewals == 0
    assert seen.renewed >= 2  # librdkafka and kafka-python
    assert seen.expired >= 1  # aiokafka
