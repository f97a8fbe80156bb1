"""Brokers of the kit with users and access control entries."""

from collections.abc import Callable
from typing import Any

import confluent_kafka
import pytest

from trio_kafka.clients.errors import AuthenticationError
from trio_kafka.clients.producer.opening import open_producer
from trio_kafka.clients.producer.record import ProducerRecord
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.testing.kafka.in_loop import KafkaInLoop
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

USERS = {"ann": "secret", "bob": "other"}
ACLS = ["allow ann to WRITE,CREATE topic orders*", "deny ann to WRITE topic orders.old"]
secured = pytest.mark.kafka(users=USERS, acls=ACLS, topics=["orders", "pay", "orders.old"])


@pytest.fixture
def kafka(kafka_factory: Callable[..., Kafka], request: pytest.FixtureRequest) -> Kafka:
    """The broker of a test, with the arguments of its mark."""
    (mark,) = request.node.iter_markers("kafka")
    return kafka_factory(**mark.kwargs)


def answer(kafka: Kafka, user: str, topic: str) -> str | None:
    """Return the name of the error with which a record of a user is refused; None: it is stored."""
    errors: list[Any] = []
    producer = confluent_kafka.Producer(kafka.client_config(user))
    producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(10) == 0
    return errors[0] and errors[0].name()


DENIED = "TOPIC_AUTHORIZATION_FAILED"


@secured
def test_a_user_may_do_what_the_entries_allow_and_nothing_else(kafka: Kafka) -> None:
    assert answer(kafka, "ann", "orders") is None
    assert answer(kafka, "ann", "orders.new") is None
    assert answer(kafka, "ann", "orders.old") == DENIED
    assert answer(kafka, "ann", "pay") == DENIED
    assert answer(kafka, "bob", "orders") == DENIED


@secured
@pytest.mark.parametrize("end", ["stop", "kill"])
def test_users_and_entries_stay_over_a_restart(kafka: Kafka, end: str) -> None:
    getattr(kafka, end)()
    kafka.start()

    assert answer(kafka, "ann", "orders") is None
    assert answer(kafka, "bob", "orders") == DENIED


@pytest.mark.kafka(users=USERS, acls=[])
def test_the_kit_itself_may_do_everything(kafka: Kafka) -> None:
    kafka.create_topic("orders")
    kafka.produce("orders", "one")
    kafka.produce("orders", "two", transactional_id="t")
    kafka.commit("t")
    kafka.wait_for_transaction("t", "CompleteCommit")
    first, second = kafka.wait_for_records("orders", 2, committed=True)
    assert (first.text, second.text) == ("one", "two")
    assert kafka.groups() == []
    kafka.delete_topic("orders")

    assert answer(kafka, "ann", "orders") == DENIED


@pytest.mark.kafka(acls=["allow ANONYMOUS to WRITE topic orders"], topics=["orders", "pay"])
def test_without_users_entries_hold_for_anonymous_clients(kafka: Kafka) -> None:
    codes = []
    producer = confluent_kafka.Producer(kafka.client_config())
    for topic in ("orders", "pay"):
        producer.produce(topic, b"x", on_delivery=lambda error, _: codes.append(error))
        producer.flush(10)
    assert [error and error.name() for error in codes] == [None, DENIED]


def test_users_of_certificates_have_entries_too(kafka_factory: Callable[..., Kafka]) -> None:
    kafka = kafka_factory(tls=True, acls=["allow ann to ALL topic *"], topics=["orders"])

    assert answer(kafka, "ann", "orders") is None
    assert answer(kafka, "eve", "orders") == DENIED


@secured
async def test_a_simulated_broker_has_users_and_entries(
    kafka_in_loop: KafkaInLoop, autojump_clock: object
) -> None:
    kafka = kafka_in_loop

    async def produce(config: dict[str, Any], topic: str) -> None:
        async with open_producer(config, world=kafka.broker.world) as producer:
            await producer.send(ProducerRecord(topic=topic, value=b"x"))
            await producer.flush()

    config = kafka.client_config("ann", client="trio_kafka")
    await produce(config, "orders")
    with pytest.raises(Exception, match=DENIED) as denied:
        await produce(config, "pay")
    assert denied.value is not None
    line = config["sasl.jaas.config"].replace("secret", "guess")
    with pytest.raises(AuthenticationError):
        await produce(config | {"sasl.jaas.config": line}, "orders")

    assert [record.value for record in await kafka.records("orders")] == [b"x"]


def test_a_release_that_cannot_store_them_is_refused_by_name() -> None:
    with (
        pytest.raises(KafkaError, match="users of SCRAM need Kafka") as refused,
        running_broker(users=USERS, as_version="2.6"),
    ):
        pass
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    with running_broker(users=USERS, mechanism="PLAIN", as_version="2.6", topics=["t"]) as kafka:
        assert answer(kafka, "ann", "t") is None
