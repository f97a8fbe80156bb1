"""Listeners of several names and address families, each with a stock client that stays on it."""

import socket
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from trio_kafka.testing.kafka.threaded import Kafka

WAIT_S = 20
SETTINGS = {
    "listeners": "SIX://[::1]:0,FOUR://127.0.0.1:0",
    "listener.security.protocol.map": "SIX:PLAINTEXT,FOUR:PLAINTEXT",
    "inter.broker.listener.name": "FOUR",
}


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def where_brokers_are(bootstrap: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return {
        f"{broker.host}:{broker.port}"
        for broker in admin.list_topics(timeout=WAIT_S).brokers.values()
    }


def produce(bootstrap: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce("t", value, partition=0)
    assert producer.flush(WAIT_S) == 0


def read(bootstrap: str) -> list[bytes]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False}
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition("t", 0, 0)])
        return [message.value() for message in consumer.consume(2, WAIT_S)]


@pytest.mark.slow
@pytest.mark.skipif(
    not has_ipv6(), reason="no IPv6 loopback: sysctl net.ipv6.conf.lo.disable_ipv6=0"
)
@pytest.mark.kafka(settings=SETTINGS, topics=["t"])
def test_metadata_names_the_address_of_the_listener_that_the_client_uses(kafka: Kafka) -> None:
    six, four = (kafka.broker.endpoints[name] for name in ("SIX", "FOUR"))
    assert (six.host, four.host) == ("::1", "127.0.0.1")
    assert six.port != four.port != 0

    assert where_brokers_are(str(six)) == {f"::1:{six.port}"}
    assert where_brokers_are(str(four)) == {f"127.0.0.1:{four.port}"}
    produce(str(six), b"of six")
    produce(str(four), b"of four")
    for endpoint in (six, four):
        assert read(str(endpoint)) == [b"of six", b"of four"]
