"""Java, franz-go and kafkajs over SASL_SSL, by each mechanism that they share with the broker.

`tests/testing/kafka` does the same with confluent-kafka, aiokafka, kafka-python and our clients.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.driver import ClientError, Driver
from tests.clients.records import Record, save_records
from trio_kafka.testing.kafka.threaded import running_broker

# Programs are built at their first use.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
WRITING = {"codec": "none", "acks": "all", "idempotent": True, "max_bytes": 1_000_000}


@pytest.mark.parametrize("name", ["java", "franz_go", "kafkajs"])
def test_client_writes_over_tls_by_each_mechanism_and_not_with_a_wrong_password(
    name: str, drivers: Callable[[Client], Driver], tmp_path: Path
) -> None:
    driver, file = drivers(CLIENTS[name]), tmp_path / "records"
    save_records(file, [Record(value=b"one")])
    for mechanism in MECHANISMS:
        with running_broker(
            topics=["orders"], tls=True, users={"ann": "secret"}, mechanism=mechanism
        ) as kafka:
            ca = tmp_path / "ca.pem"
            ca.write_text(kafka.client_config("ann")["ssl.ca.pem"])
            login = {"ca": str(ca), "mechanism": mechanism, "user": "ann", "password": "secret"}
            known = {"bootstrap": kafka.bootstrap, "topic": "orders", "login": login}

            assert driver.ask("list_topics", **known) == ["orders"]
            driver.ask("produce", **known, file=str(file), **WRITING)
            with pytest.raises(ClientError):
                driver.ask("list_topics", **{**known, "login": {**login, "password": "wrong"}})

            assert [record.value for record in kafka.records("orders")] == [b"one"]
