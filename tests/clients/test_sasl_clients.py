"""confluent-kafka, kafka-python, aiokafka and our clients over SASL_SSL, by each mechanism."""

import asyncio
import ssl
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Final

import pytest
import trio
from aiokafka import AIOKafkaProducer
from aiokafka.abc import AbstractTokenProvider as AiokafkaProvider
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism
from confluent_kafka.admin import UserScramCredentialDeletion as Deletion
from confluent_kafka.admin import UserScramCredentialUpsertion as Upsertion

from tests.broker.sasl import PASSWORDS
from tests.certificates import authority
from tests.clients.secured_broker import (
    PASSWORD_MECHANISMS,
    address_of,
    secured_broker,
    signed_token,
)
from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.clients.errors import AuthenticationError
from trio_kafka.config.jaas import login_module
from trio_kafka.testing.kafka.threaded import Kafka

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    from kafka import KafkaProducer
    from kafka.net.sasl.oauth import AbstractTokenProvider as KafkaPythonProvider

TIMEOUT_S: Final = 30
Write = Callable[[str, str, str], object]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with secured_broker(tmp_path_factory.mktemp("issuer")) as kafka:
        yield kafka


@pytest.fixture(scope="module")
def bootstrap(kafka: Kafka) -> str:
    return address_of(kafka)


def trust() -> ssl.SSLContext:
    """TLS context of clients in Python."""
    return ssl.create_default_context(cadata=authority().pem)


def confluent_settings(bootstrap: str, mechanism: str, password: str) -> dict[str, object]:
    return {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": authority().pem,
        "sasl.mechanism": mechanism,
        "sasl.username": "ann",
        "sasl.password": password,
        "log_level": 0,
    }


def write_by_confluent(bootstrap: str, mechanism: str, password: str) -> None:
    """Write a record. Raises KafkaError, an attribute of the exception, of a failed login."""
    errors: list[KafkaError] = []
    producer = Producer(
        {**confluent_settings(bootstrap, mechanism, password), "error_cb": errors.append}
    )
    producer.produce("orders", b"confluent")
    while len(producer) and not errors:
        producer.poll(TIMEOUT_S)
    if errors:
        producer.purge()
        raise PermissionError(errors[0].name())


def write_by_kafka_python(bootstrap: str, mechanism: str, password: str) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        security_protocol="SASL_SSL",
        ssl_context=trust(),
        sasl_mechanism=mechanism,
        sasl_plain_username="ann",
        sasl_plain_password=password,
    )
    producer.send("orders", b"kafka-python").get(TIMEOUT_S)
    producer.close()


def write_by_aiokafka(bootstrap: str, mechanism: str, password: str) -> None:
    async def write() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            security_protocol="SASL_SSL",
            ssl_context=trust(),
            sasl_mechanism=mechanism,
            sasl_plain_username="ann",
            sasl_plain_password=password,
        )
        try:
            await producer.start()
            await producer.send_and_wait("orders", b"aiokafka")
        finally:
            await producer.stop()

    asyncio.run(write())


def write_by_ours(bootstrap: str, mechanism: str, password: str) -> None:
    options = {"username": "ann", "password": password}
    if mechanism == "OAUTHBEARER":
        options = {"token": password}

    async def write() -> None:
        settings = {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": authority().pem,
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": login_module(mechanism, options),
        }
        async with open_producer(settings) as producer:
            await (await producer.send(ProducerRecord("orders", b"ours"))).wait()

    trio.run(write)


@pytest.mark.parametrize("mechanism", PASSWORD_MECHANISMS)
@pytest.mark.parametrize(
    "write", [write_by_confluent, write_by_kafka_python, write_by_aiokafka, write_by_ours]
)
def test_a_client_writes_after_its_login(write: Write, mechanism: str, bootstrap: str) -> None:
    write(bootstrap, mechanism, PASSWORDS["ann"])


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_librdkafka_gives_up_at_once_with_a_wrong_password(mechanism: str, bootstrap: str) -> None:
    with pytest.raises(PermissionError, match="_AUTHENTICATION"):
        write_by_confluent(bootstrap, mechanism, "wrong")


def write_with_token_by_confluent(bootstrap: str, text: str) -> None:
    errors: list[KafkaError] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_SSL",
            "ssl.ca.pem": authority().pem,
            "sasl.mechanism": "OAUTHBEARER",
            "oauth_cb": lambda _config: (text, time.time() + 60),
            "error_cb": errors.append,
            "log_level": 0,
        }
    )
    producer.produce("orders", b"confluent")
    while len(producer) and not errors:
        producer.poll(TIMEOUT_S)
    if errors:
        producer.purge()
        raise PermissionError(errors[0].name())


def test_librdkafka_writes_with_a_signed_token_and_gives_up_with_another_one(
    bootstrap: str,
) -> None:
    write_with_token_by_confluent(bootstrap, signed_token())
    with pytest.raises(PermissionError, match="_AUTHENTICATION"):
        write_with_token_by_confluent(bootstrap, signed_token(aud="other"))


class Provider(AiokafkaProvider):
    """Source of tokens."""

    async def token(self) -> str:
        return signed_token()


class BlockingProvider(KafkaPythonProvider):
    """Source of tokens for a client without asyncio."""

    def token(self) -> str:
        return signed_token()


def test_our_producer_writes_with_a_signed_token_and_gives_up_with_another_one(
    bootstrap: str,
) -> None:
    write_by_ours(bootstrap, "OAUTHBEARER", signed_token())
    with pytest.raises(AuthenticationError, match="OAUTHBEARER login was rejected"):
        write_by_ours(bootstrap, "OAUTHBEARER", signed_token(aud="other"))


def test_clients_in_python_write_with_a_signed_token(bootstrap: str) -> None:
    settings = {
        "bootstrap_servers": bootstrap,
        "security_protocol": "SASL_SSL",
        "ssl_context": trust(),
        "sasl_mechanism": "OAUTHBEARER",
    }

    async def write() -> None:
        producer = AIOKafkaProducer(**settings, sasl_oauth_token_provider=Provider())
        try:
            await producer.start()
            await producer.send_and_wait("orders", b"aiokafka")
        finally:
            await producer.stop()

    asyncio.run(write())
    producer = KafkaProducer(**settings, sasl_oauth_token_provider=BlockingProvider())
    producer.send("orders", b"kafka-python").get(TIMEOUT_S)
    producer.close()


def test_aiokafka_logs_the_reason_for_which_its_password_is_rejected(
    bootstrap: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KafkaConnectionError):
        write_by_aiokafka(bootstrap, "SCRAM-SHA-256", "wrong")

    assert "SaslAuthenticationFailed: Authentication failed during authentication" in caplog.text


def test_the_admin_client_of_librdkafka_creates_and_deletes_users(
    kafka: Kafka, bootstrap: str
) -> None:
    admin = AdminClient(confluent_settings(bootstrap, "PLAIN", PASSWORDS["ann"]))
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)

    for future in admin.alter_user_scram_credentials([Upsertion("carol", info, b"pw")]).values():
        future.result(TIMEOUT_S)
    described = admin.describe_user_scram_credentials(["carol"])["carol"].result(TIMEOUT_S)
    deletion = Deletion("carol", ScramMechanism.SCRAM_SHA_256)
    for future in admin.alter_user_scram_credentials([deletion]).values():
        future.result(TIMEOUT_S)

    (result,) = described.scram_credential_infos
    assert (result.mechanism, result.iterations) == (ScramMechanism.SCRAM_SHA_256, 8192)
    users = kafka.thread.call(lambda: _users(kafka))
    assert users == {"ann", "bob"}


async def _users(kafka: Kafka) -> set[str]:
    from trio import lowlevel

    await lowlevel.checkpoint()
    return {name for name, _ in kafka.broker.parts.metadata.image.scram}
