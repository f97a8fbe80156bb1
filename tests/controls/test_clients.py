import socket

from confluent_kafka import Producer

from trio_kafka.controls.clients import connected_clients
from trio_kafka.testing.kafka.threaded import running_broker


def test_clients_are_named_by_id_software_and_address():
    with running_broker(topics=["orders"]) as kafka:
        host, _, port = kafka.bootstrap.rpartition(":")
        with socket.create_connection((host, int(port))) as silent:
            kafka.wait_until(lambda: len(connected_clients(kafka.broker)) == 1)
            (result,) = kafka.look(connected_clients)
            assert str(result) == "without a request from 127.0.0.1:" + str(silent.getsockname()[1])
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "client.id": "mine", "log_level": 0}
        )
        producer.produce("orders", b"a")
        producer.flush()
        result = {str(client).partition(" from ")[0] for client in kafka.look(connected_clients)}
        assert len(result) == 1
        assert result.pop().startswith("'mine' (confluent-kafka-python ")


def test_broker_without_connections_lists_no_clients():
    with running_broker() as kafka:
        assert kafka.look(connected_clients) == []
