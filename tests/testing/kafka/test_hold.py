"""Connected clients are held while the clock moves, and others are not."""

import subprocess
import sys

import pytest

from tests.testing.kafka.kit import consumer
from trio_kafka.testing.kafka.threaded import running_broker


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_connected_member_stays_over_a_day_unless_asked_otherwise(protocol):
    with running_broker(topics=["orders"]) as kafka:
        client = consumer(kafka, **{"group.protocol": protocol})
        try:
            kafka.produce("orders", b"a")
            assert [one.value() for one in client.consume(1, timeout=10)] == [b"a"]
            kafka.wait_for_group("g", state="Stable", members=1)
            kafka.advance(hours=24)
            assert len(kafka.group("g").members) == 1
            kafka.produce("orders", b"b")
            assert [one.value() for one in client.consume(1, timeout=10)] == [b"b"]

            kafka.advance(seconds=46, hold=False)
            assert kafka.group("g").members == ()
            kafka.produce("orders", b"c")
            assert [one.value() for one in client.consume(1, timeout=20)] == [b"c"]
        finally:
            client.close()


CONSUMES = """
import sys
from confluent_kafka import Consumer
client = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g", "client.id": "gone"})
client.subscribe(["orders"])
while True:
    client.poll(1)
"""


def test_a_member_whose_client_is_gone_is_not_held():
    with running_broker(topics=["orders"]) as kafka:
        with subprocess.Popen([sys.executable, "-c", CONSUMES, kafka.bootstrap]) as client:
            kafka.wait_for_group("g", state="Stable", members=1)
            client.kill()
        kafka.wait_until(lambda: not connections(kafka.broker), what="the end of its connections")
        kafka.advance(minutes=10)
        assert kafka.group("g").members == ()


def connections(broker) -> list[object]:
    return [
        connection
        for plane in broker.planes
        for processor in plane.processors
        for connection in processor.connections.values()
    ]
