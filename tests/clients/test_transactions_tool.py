"""Kafka's own kafka-transactions.sh: every verb and filter, the abort of a hanging transaction."""

import re
from collections.abc import Iterator

import pytest

from tests.cli.txn.kit import begin, forget
from tests.clients.build import class_path
from tests.clients.console.program import run
from tests.installed import skipped_if_missing
from trio_kafka.testing.kafka.threaded import Kafka, running_broker

# A JVM for each question.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TOOL = "org.apache.kafka.tools.TransactionsCommand"


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with skipped_if_missing():
        class_path("tools")
    with running_broker() as kafka:
        kafka.create_topic("orders", partitions=2)
        begin(kafka, "billing", "orders")
        yield kafka


def rows(kafka: Kafka, *arguments: str) -> list[list[str]]:
    """Cells of the printed table, without its head."""
    printed = run(TOOL, "--bootstrap-server", kafka.bootstrap, *arguments)
    return [[cell.strip() for cell in line.split("\t")[:-1]] for line in printed.splitlines()[1:]]


def test_kafka_transactions_lists_describes_and_terminates_transactional_ids(kafka: Kafka) -> None:
    (listed,) = rows(kafka, "list")
    assert (listed[0], listed[1], listed[3]) == ("billing", "1", "Ongoing")
    assert len(rows(kafka, "list", "--duration-filter", "0")) == 1
    assert rows(kafka, "list", "--duration-filter", "3600000") == []
    assert len(rows(kafka, "list", "--transactional-id-pattern", "b.*g")) == 1

    (described,) = rows(kafka, "describe", "--transactional-id", "billing")
    assert described[:3] == ["1", "billing", listed[2]]
    assert (described[4], described[5], described[-1]) == ("Ongoing", "60000", "orders-0")

    rows(kafka, "forceTerminateTransaction", "--transactionalId", "billing")
    (described,) = rows(kafka, "describe", "--transactional-id", "billing")
    assert described[4] == "Empty"
    assert int(described[3]) > 0


def test_kafka_transactions_finds_a_hanging_transaction_and_aborts_it(kafka: Kafka) -> None:
    kafka.create_topic("lost")
    identity = begin(kafka, "gone", "lost")
    at = ("--topic", "lost", "--partition", "0")
    assert rows(kafka, "find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0") == []
    forget(kafka, "gone")

    (hanging,) = rows(kafka, "find-hanging", *at, "--max-transaction-timeout", "0")
    assert hanging[:4] == ["lost", "0", str(identity.producer_id), str(identity.epoch)]
    (producer,) = rows(kafka, "describe-producers", *at)
    assert producer[0] == str(identity.producer_id)
    assert re.fullmatch(r"-?\d+", producer[2])
    assert producer[-1] == "0"

    rows(kafka, "abort", *at, "--start-offset", "0")

    (producer,) = rows(kafka, "describe-producers", *at)
    assert (producer[2], producer[-1]) == ("0", "None")
    assert rows(kafka, "find-hanging", *at, "--max-transaction-timeout", "0") == []
