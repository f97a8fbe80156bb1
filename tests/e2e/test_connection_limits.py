"""Clients of Kafka at a broker that lets few in and lends little memory."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.e2e.clients import new_topic, produce, read, settings, values_of
from trio_kafka.controls.clients import connected_clients
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.processes import ask_api_versions, broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

LARGEST = 1 << 20


def address(kafka: Kafka) -> tuple[str, int]:
    return kafka.broker.endpoint.host, kafka.broker.endpoint.port


def held(kafka: Kafka, count: int) -> list[socket.socket]:
    return [socket.create_connection(address(kafka)) for _ in range(count)]


def is_closed(connection: socket.socket) -> bool:
    """Within seconds."""
    connection.settimeout(10)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_producers_share_request_memory_sized_for_one_largest_request(
    tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    memory = f"queued.max.request.bytes={LARGEST}"
    with broker_process(tmp_path, f"socket.request.max.bytes={LARGEST}", memory) as broker:
        topic, count = new_topic(broker, 4), size(1500, 20_000)
        written = [b"%d" % n + b"=" * 900 for n in range(count)]
        producers = [
            Producer(settings(broker, acks="all", batch_size=900_000, linger_ms=20))
            for _ in range(4)
        ]
        for value in written:
            for partition, producer in enumerate(producers):
                producer.produce(topic, value, partition=partition)
                producer.poll(0)
        assert [producer.flush(120) for producer in producers] == [0] * 4

        for partition in range(4):
            assert values_of(read(broker, topic, len(written), partition)) == written


@pytest.mark.kafka(settings={"max.connections.per.ip": "20"}, topics=["orders"])
def test_connections_above_the_limit_of_an_address_close_without_harm_to_earlier_clients(
    kafka: Kafka,
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    produce(producer, "orders", [b"before"])
    first = len(kafka.look(connected_clients))

    crowd = held(kafka, 300)
    closed = sum(map(is_closed, crowd[30:]))
    produce(producer, "orders", [b"after"])

    assert closed == 270
    for connection in crowd:
        connection.close()
    kafka.wait_until(lambda: len(connected_clients(kafka.broker)) <= first)
    assert ask_api_versions(address(kafka))
    assert [record.text for record in kafka.records("orders")] == ["before", "after"]


@pytest.mark.kafka(settings={"max.connections": "5"})
def test_connection_above_max_connections_waits_until_others_close(kafka: Kafka) -> None:
    crowd = held(kafka, 5)
    kafka.wait_until(lambda: len(connected_clients(kafka.broker)) == 5)
    with pytest.raises(OSError, match="timed out"):
        ask_api_versions(address(kafka), timeout_s=1.0)
    for connection in crowd:
        connection.close()

    assert ask_api_versions(address(kafka))
