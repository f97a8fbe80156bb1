"""librdkafka while the broker's certificate, and what it trusts, change many times."""

from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient

from tests.certificate_swaps import serving_settings, swap
from tests.certificates import now
from trio_kafka.security.tls.development import Identity
from trio_kafka.testing.kafka.threaded import running_broker

SWAPS = 12
A_ROUND = 20
AUTHORITY = Identity.authority(now(), "authority of swaps")
CLIENT = AUTHORITY.issue(now(), "ann")
SETTINGS = {
    "listeners": "SSL://127.0.0.1:0",
    "security.inter.broker.protocol": "SSL",
    **serving_settings(AUTHORITY, client_auth="required"),
}


@pytest.mark.slow
def test_certificates_and_trust_are_swapped_under_load_without_an_error() -> None:
    errors: list[KafkaError] = []
    delivered: list[Message] = []

    def note(error: KafkaError | None, message: Message) -> None:
        if error is None:
            delivered.append(message)
        else:
            errors.append(error)

    def produce(producer: Producer) -> None:
        for _ in range(A_ROUND):
            producer.produce("orders", b"x" * 100, on_delivery=note)
        assert not producer.flush(30)

    with running_broker(SETTINGS, topics=["orders"]) as kafka:
        config: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.pem": AUTHORITY.pem,
            "ssl.certificate.pem": CLIENT.pem,
            "ssl.key.pem": CLIENT.key_pem(),
            "error_cb": errors.append,
            "linger.ms": 1,
        }
        lasting = Producer(config)
        produce(lasting)
        for number in range(SWAPS):
            swap(kafka, AUTHORITY, number)
            produce(lasting)  # over its old connection
            produce(Producer(config))  # over a new one
            assert "orders" in AdminClient(config).list_topics(timeout=30).topics

    assert errors == []
    assert len(delivered) == A_ROUND * (1 + 2 * SWAPS)
