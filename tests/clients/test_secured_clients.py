"""Java, franz-go and kafkajs over SASL_SSL, by each mechanism: one process of each client.

`test_sasl_clients` does the same with confluent-kafka, aiokafka, kafka-python and our clients.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.clients.catalogue import CLIENTS, Client
from tests.clients.driver import ClientError, Driver
from tests.clients.records import Record, save_records
from tests.clients.secured_broker import (
    PASSWORD_MECHANISMS,
    address_of,
    ca_file,
    secured_broker,
    signed_token,
)
from trio_kafka.testing.kafka.threaded import Kafka

# Programs are built at their first use.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WRITING = {"codec": "none", "acks": "all", "idempotent": True, "max_bytes": 1_000_000}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with secured_broker(tmp_path_factory.mktemp("issuer")) as kafka:
        yield kafka


def with_token(directory: Path, text: str) -> dict[str, str]:
    """A login by a token: Java reads it from a file, the others get the text."""
    file = directory / "token"
    file.write_text(text)
    return {"mechanism": "OAUTHBEARER", "token": text, "token_url": file.as_uri()}


@pytest.mark.parametrize("name", ["java", "franz_go", "kafkajs"])
def test_client_writes_over_tls_by_each_mechanism_and_not_with_wrong_credentials(
    name: str, kafka: Kafka, drivers: Callable[[Client], Driver], tmp_path: Path
) -> None:
    driver, file = drivers(CLIENTS[name]), tmp_path / "records"
    logins = [
        (
            {"mechanism": mechanism, "user": "ann", "password": "secret"},
            {"mechanism": mechanism, "user": "ann", "password": "wrong"},
        )
        for mechanism in PASSWORD_MECHANISMS
    ]
    for good, bad in [*logins, (None, None)]:
        # A token is read at the login, so that both share a file.
        login = good or with_token(tmp_path, signed_token())
        arguments = {"bootstrap": address_of(kafka), "topic": "orders"}
        trusted = {"ca": str(ca_file(tmp_path))}
        value = f"{name} by {login['mechanism']}".encode()
        save_records(file, [Record(value=value)])

        assert driver.ask("list_topics", **arguments, login={**trusted, **login}) == ["orders"]
        driver.ask("produce", **arguments, login={**trusted, **login}, file=str(file), **WRITING)
        wrong = bad or with_token(tmp_path, signed_token(aud="other"))
        with pytest.raises(ClientError):
            driver.ask("list_topics", **arguments, login={**trusted, **wrong})

        assert value in [record.value for record in kafka.records("orders")]
