"""Connected clients are held while the clock moves, and others are not."""

import subprocess
import sys

import pytest

from tests.testing.kafka.kit import consumer
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.testing.kafka.threaded import running_broker


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_connected_member_survives_a_day_advance_unless_hold_is_false(protocol):
    with running_broker(topics=["orders"]) as kafka:
        client = consumer(kafka, **{"group.protocol": protocol})
        try:
            kafka.produce("orders", b"a")
            assert [message.value() for message in client.consume(1, timeout=10)] == [b"a"]
            kafka.wait_for_group("g", state="Stable", members=1)
            kafka.advance(hours=24)
            assert len(kafka.group("g").members) == 1
            kafka.produce("orders", b"b")
            assert [message.value() for message in client.consume(1, timeout=10)] == [b"b"]

            kafka.advance(seconds=46, hold=False)
            assert kafka.group("g").members == ()
            kafka.produce("orders", b"c")
            assert [message.value() for message in client.consume(1, timeout=20)] == [b"c"]
        finally:
            client.close()


def test_advance_of_a_day_takes_few_steps_despite_two_connected_consumers():
    with running_broker(topics=["orders"]) as kafka:
        clients = [
            consumer(kafka, group, **{"group.protocol": group}) for group in ("classic", "consumer")
        ]
        try:
            kafka.produce("orders", b"a")
            for client in clients:
                assert [message.value() for message in client.consume(1, timeout=10)] == [b"a"]
            assert kafka.advance(hours=24) < 1_500  # 170,000 long polls of each client
            kafka.produce("orders", b"b")
            for client in clients:
                assert [message.value() for message in client.consume(1, timeout=10)] == [b"b"]
        finally:
            for client in clients:
                client.close()


def test_a_long_poll_ends_in_real_time_after_the_clock_was_moved():
    with running_broker(topics=["orders"]) as kafka:
        client = consumer(kafka, **{"fetch.wait.max.ms": 200})
        try:
            kafka.produce("orders", b"a")
            assert len(client.consume(1, timeout=10)) == 1
            kafka.advance(hours=24)
            polls = kafka.look(expired)
            kafka.wait_until(lambda: expired(kafka.broker) >= polls + 2, what="two long polls")
        finally:
            client.close()


def expired(broker) -> int:
    return broker.parts[Purgatories].fetch.figures()["expired"]


def test_a_long_poll_does_not_end_while_the_clock_is_moved():
    with running_broker(topics=["orders"]) as kafka:
        client = consumer(kafka, **{"fetch.wait.max.ms": 60_000, "socket.timeout.ms": 120_000})
        try:
            kafka.produce("orders", b"a")
            assert len(client.consume(1, timeout=10)) == 1
            kafka.wait_until(lambda: kafka.in_loop.broker.parts[Purgatories].fetch.waiting == 1)
            kafka.advance(hours=1)
            assert kafka.look(expired) == 0
            kafka.advance(seconds=61, hold=False)
            assert kafka.look(expired) == 1
        finally:
            kafka.produce("orders", b"b")
            client.close()


CONSUMES = """
import sys
from confluent_kafka import Consumer
client = Consumer({"bootstrap.servers": sys.argv[1], "group.id": "g", "client.id": "gone"})
client.subscribe(["orders"])
while True:
    client.poll(1)
"""


def test_member_of_a_killed_client_expires_when_the_clock_advances():
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
