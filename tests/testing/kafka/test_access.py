"""Real clients of a broker with TLS, with the settings that the kit gives them."""

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import aiokafka
import confluent_kafka
import pytest
import trio

from trio_kafka.clients.errors import AuthenticationError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.testing.kafka.access import Access
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # kafka-python's own, on its import
    from kafka import KafkaProducer


@pytest.fixture(scope="module")
def secured() -> Iterator[Kafka]:
    with running_broker(tls=True, topics=["orders"]) as kafka:
        yield kafka


def values(kafka: Kafka) -> list[bytes | None]:
    return [record.value for record in kafka.records("orders")]


@pytest.mark.slow
@pytest.mark.parametrize("user", [None, "ann"])
def test_librdkafka_produces_and_consumes_over_tls(secured: Kafka, user: str | None) -> None:
    producer = confluent_kafka.Producer(secured.client_config(user))
    producer.produce("orders", b"of librdkafka" * 50_000)
    assert producer.flush(10) == 0

    consumer = confluent_kafka.Consumer(
        {**secured.client_config(user), "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["orders"])
    messages = []
    while not any(m and m.value()[:13] == b"of librdkafka" for m in messages):
        messages.append(consumer.poll(10))
        assert len(messages) < 50
    consumer.close()


def test_kafka_python_produces_over_tls(secured: Kafka) -> None:
    producer = KafkaProducer(**secured.client_config("bob", client="kafka_python"))
    producer.send("orders", b"of kafka-python").get(10)
    producer.close()

    assert b"of kafka-python" in values(secured)


def test_aiokafka_produces_over_tls(secured: Kafka) -> None:
    async def produce() -> None:
        async with aiokafka.AIOKafkaProducer(
            **secured.client_config(client="aiokafka")
        ) as producer:
            await producer.send_and_wait("orders", b"of aiokafka")

    asyncio.run(produce())

    assert b"of aiokafka" in values(secured)


def test_our_clients_produce_over_tls_and_fail_at_once_without_trust(secured: Kafka) -> None:
    config = secured.client_config("ann", client="trio_kafka")

    async def produce(config: dict[str, Any]) -> None:
        async with open_producer(config) as producer:
            await producer.send(ProducerRecord(topic="orders", value=b"of ours" * 50_000))
            await producer.flush()

    trio.run(produce, config)
    assert b"of ours" * 50_000 in values(secured)
    stranger = config["ssl.keystore.certificate.chain"]
    with pytest.raises(AuthenticationError, match="the peer's certificate is not accepted"):
        trio.run(produce, config | {"ssl.truststore.certificates": stranger})


def test_the_principal_is_the_name_in_the_clients_certificate(secured: Kafka) -> None:
    def principals(broker: Any) -> set[str]:
        (plane, *_) = broker.parts.planes
        return {
            str(connection.principal)
            for processor in plane.processors
            for connection in processor.connections.values()
        }

    producer = confluent_kafka.Producer(secured.client_config("ann"))
    producer.produce("orders", b"x")
    assert producer.flush(10) == 0

    assert "User:ann" in secured.look(principals)


@pytest.mark.slow
@pytest.mark.kafka(tls=True, topics=["orders"])
async def test_a_simulated_broker_has_tls_too(kafka_in_loop: Any) -> None:
    kafka = kafka_in_loop
    config = kafka.client_config("ann", client="trio_kafka")
    world = kafka.broker.world
    async with open_producer(config, world=world) as producer:
        await producer.send(ProducerRecord(topic="orders", value=b"x"))
        await producer.flush()
    assert [record.value for record in await kafka.records("orders")] == [b"x"]


@pytest.mark.parametrize(
    ("tls", "mechanism"),
    [(False, "SCRAM-SHA-256"), (True, "SCRAM-SHA-512"), (False, "PLAIN"), (True, "PLAIN")],
)
def test_each_client_logs_in_as_a_user_of_the_broker(tls: bool, mechanism: str) -> None:
    users = {"ann": 'p"\\w,1', "b.ob": "other"}
    with running_broker(tls=tls, users=users, mechanism=mechanism, topics=["orders"]) as kafka:
        producer = confluent_kafka.Producer(kafka.client_config("ann"))
        producer.produce("orders", b"of librdkafka")
        assert producer.flush(10) == 0
        config = kafka.client_config("b.ob", client="kafka_python")
        producer = KafkaProducer(**config)
        producer.send("orders", b"of kafka-python").get(10)
        producer.close()

        async def produce() -> None:
            config = kafka.client_config("ann", client="aiokafka")
            async with aiokafka.AIOKafkaProducer(**config) as producer:
                await producer.send_and_wait("orders", b"of aiokafka")

        async def produce_on_trio() -> None:
            async with open_producer(kafka.client_config("ann", client="trio_kafka")) as producer:
                await producer.send(ProducerRecord(topic="orders", value=b"of ours"))

        asyncio.run(produce())
        trio.run(produce_on_trio)

        assert len(values(kafka)) == 4


def test_invalid_users_mechanisms_and_acls_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="user 'eve': expected one of ann, bob"):
        Access(users={"bob": "x", "ann": "y"}).client_config("h:1", "eve")
    with pytest.raises(ValueError, match="user None: expected one of ann"):
        Access(users={"ann": "y"}).client_config("h:1")
    with pytest.raises(ValueError, match="mechanism 'GSSAPI': expected one of SCRAM-SHA-256"):
        Access(users={"ann": "y"}, mechanism="GSSAPI")
    with pytest.raises(ValueError, match="ACL 'ann may read': want such as"):
        Access(acls=["ann may read"])
    with pytest.raises(ValueError, match="READ topic orders': expected a list"):
        Access(acls="allow ann to READ topic orders")
    with pytest.raises(ValueError, match="user 'a b': expected letters"):
        Access(users={"a b": "y"})
    assert "s3cret" not in repr(Access(users={"ann": "s3cret"}))
    with pytest.raises(ValueError, match="client 'sarama': expected one of confluent_kafka"):
        Access(tls=True).client_config("h:1", client="sarama")
    with pytest.raises(ValueError, match=r"user 'ann': .*tls=True"):
        Access().client_config("h:1", "ann")
    assert Access().client_config("h:1", client="aiokafka") == {"bootstrap_servers": "h:1"}
