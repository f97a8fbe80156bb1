"""Kafka's own kafka-acls.sh, and an admin client over librdkafka: create, list and delete ACLs.

Clients without authentication are User:ANONYMOUS, so the entries of these tests are for them.
"""

import shlex
from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.apis.acls import allow_cluster, creations
from tests.clients.kafka_tools.jvm import ask_tool
from tests.installed import skipped_if_missing
from tests.project.tree import ROOT
from trio_kafka.config.authorizer import STANDARD
from trio_kafka.controls.ask import ask
from trio_kafka.protocol.messages.k30_create_acls import CreateAclsRequest
from trio_kafka.security.operations import Operation
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TOOL: Final = "org.apache.kafka.tools.AclCommand"
SCRIPT: Final = "kafka-acls.sh"
GUIDE: Final = ROOT / "docs" / "how-to" / "acls.md"
TIMEOUT_S: Final = 30
ANONYMOUS: Final = "User:ANONYMOUS"
SETTINGS: Final = {"authorizer.class.name": STANDARD, "super.users": "User:admin"}


@pytest.fixture
def kafka() -> Iterator[Kafka]:
    """A broker with the topic `orders`, whose clients may change ACLs, and nothing else."""
    with running_broker(SETTINGS, topics=["orders"]) as kafka:
        acls = (allow_cluster(Operation.ALTER), allow_cluster(Operation.DESCRIBE))
        request = CreateAclsRequest(creations(*acls))
        answer = kafka.thread.call(partial(ask, kafka.broker, request))
        assert [result.error_code for result in answer.results] == [0, 0]
        yield kafka


def run(kafka: Kafka, *arguments: str) -> str:
    """Return what kafka-acls.sh prints; it must succeed."""
    with skipped_if_missing():
        done = ask_tool(TOOL, "--bootstrap-server", kafka.bootstrap, *arguments)
    assert done.status == 0, done
    return done.printed


def error_of_produce(kafka: Kafka, topic: str = "orders") -> int:
    """The code with which librdkafka delivers a record; 0 is success."""
    codes: list[int] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        codes.append(0 if error is None else error.code())

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "message.timeout.ms": 20_000})
    producer.produce(topic, b"x", on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    return codes[0]


def test_kafka_acls_adds_lists_and_removes_entries_that_decide_at_once(kafka: Kafka) -> None:
    assert error_of_produce(kafka) == KafkaError.TOPIC_AUTHORIZATION_FAILED

    run(kafka, "--add", "--allow-principal", ANONYMOUS, "--producer", "--topic", "orders")
    run(
        kafka,
        *("--add", "--deny-principal", "User:bob", "--deny-host", "10.0.0.0/8"),
        *("--operation", "Read", "--topic", "ord", "--resource-pattern-type", "prefixed"),
    )

    assert error_of_produce(kafka) == 0
    listed = run(kafka, "--list", "--topic", "orders", "--resource-pattern-type", "match")
    assert "name=orders, patternType=LITERAL" in listed
    assert "name=ord, patternType=PREFIXED" in listed
    assert "principal=User:bob, host=10.0.0.0/8, operation=READ, permissionType=DENY" in listed
    for operation in ("WRITE", "DESCRIBE", "CREATE"):
        assert f"principal={ANONYMOUS}, host=*, operation={operation}, " in listed

    run(kafka, "--remove", "--force", "--topic", "orders")
    listed = run(kafka, "--list")
    assert "orders" not in listed
    assert "name=ord," in listed
    assert error_of_produce(kafka) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_entries_survive_a_power_loss_as_clients_see_it(kafka: Kafka) -> None:
    run(kafka, "--add", "--allow-principal", ANONYMOUS, "--operation", "Write", "--topic", "orders")
    kafka.kill(power=True)
    kafka.start()

    assert error_of_produce(kafka) == 0
    assert "name=orders" in run(kafka, "--list")


def test_an_admin_client_over_librdkafka_changes_entries(kafka: Kafka) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    write = AclBinding(
        ResourceType.TOPIC,
        "ord",
        ResourcePatternType.PREFIXED,
        ANONYMOUS,
        "127.0.0.1",
        AclOperation.WRITE,
        AclPermissionType.ALLOW,
    )
    of_topics = AclBindingFilter(
        ResourceType.TOPIC,
        None,
        ResourcePatternType.ANY,
        None,
        None,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )

    for created in admin.create_acls([write]).values():
        created.result(TIMEOUT_S)
    assert admin.describe_acls(of_topics).result(TIMEOUT_S) == [write]
    assert error_of_produce(kafka) == 0
    (deleted,) = admin.delete_acls([of_topics]).values()
    assert deleted.result(TIMEOUT_S) == [write]
    assert admin.describe_acls(of_topics).result(TIMEOUT_S) == []
    assert error_of_produce(kafka) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_the_commands_of_the_guide_allow_what_it_says(kafka: Kafka) -> None:
    text = GUIDE.read_text().replace("\\\n", " ")
    commands = [shlex.split(line) for line in text.splitlines() if line.strip().startswith(SCRIPT)]
    assert len(commands) == 2
    kafka.create_topic("orders.new")
    assert error_of_produce(kafka, "orders.new") == KafkaError.TOPIC_AUTHORIZATION_FAILED

    for _, server, address, *arguments in commands:
        assert (server, address) == ("--bootstrap-server", "localhost:9092")
        run(kafka, *arguments)

    assert error_of_produce(kafka, "orders.new") == 0
    assert error_of_produce(kafka) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    listed = run(kafka, "--list", "--cluster")
    assert f"principal={ANONYMOUS}, host=127.0.0.1, operation=ALL, permissionType=ALLOW" in listed
