"""SASL over TLS, with librdkafka and our clients."""

from collections.abc import Iterator

import pytest
import trio
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from trio_kafka.clients.blocking import open_admin
from trio_kafka.clients.errors import AuthenticationError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required {} user_ann="s3cret";'
SETTINGS = {
    "listeners": "SASL_SSL://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_SSL",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": LOGIN.format(
        'username="admin" password="x" user_admin="x"'
    ),
    "ssl.client.auth": "required",  # has no effect on a listener with SASL (KIP-684)
}


@pytest.fixture(scope="module")
def secured() -> Iterator[Kafka]:
    with running_broker(SETTINGS, tls=True, topics=["orders"]) as kafka:
        yield kafka


@pytest.mark.slow
def test_librdkafka_logs_in_over_tls_and_learns_of_a_wrong_password(secured: Kafka) -> None:
    config = {
        **secured.client_config(),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": "s3cret",
    }
    assert "orders" in AdminClient(config).list_topics(timeout=10).topics

    errors: list[KafkaError] = []
    wrong = AdminClient({**config, "sasl.password": "wr0ng", "error_cb": errors.append})
    with pytest.raises(KafkaException):
        wrong.list_topics(timeout=1)
    wrong.poll(1)
    assert KafkaError._AUTHENTICATION in [error.code() for error in errors]


@pytest.mark.slow
def test_our_clients_log_in_over_tls(secured: Kafka) -> None:
    client = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" {};'
    config = {
        **secured.client_config(client="trio_kafka"),
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": client.format('password="s3cret"'),
    }

    async def produce() -> None:
        async with open_producer(config) as producer:
            await producer.send(ProducerRecord(topic="orders", value=b"x"))
            await producer.flush()

    trio.run(produce)
    assert [record.value for record in secured.records("orders")] == [b"x"]
    wrong = {**config, "sasl.jaas.config": client.format('password="wr0ng"')}
    with open_admin(wrong) as admin, pytest.raises(AuthenticationError):
        admin.list_topics()
