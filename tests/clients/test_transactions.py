"""Transactions of clients in other languages: commit, abort, offsets, fencing and the timeout.

Java 4.4 and franz-go speak the newer protocol, Java 3.9 and kafkajs the older one. The errors that
the clients report were the same against Apache Kafka 4.4 (`--against apache-kafka`).
"""

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from attrs import frozen

from tests.clients.catalogue import CLIENTS, OLD_JAVA, Client
from tests.clients.driver import Driver
from tests.conftest import BRIEF_REBALANCE
from tests.e2e.clients import new_topic
from tests.e2e.test_transactions import COMMITTED, TRANSACTIONS, WRITTEN, records, values
from trio_kafka.testing.processes import BrokerProcess, Command, broker_process

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # programs are built at their first use

SETTINGS = ("transaction.abort.timed.out.transaction.cleanup.interval.ms=200", BRIEF_REBALANCE)
TIMEOUT_MS = 500
COUNT = 9  # records to copy
FENCED = {
    "java": "ProducerFencedException",
    "old_java": "ProducerFencedException",
    "franz_go": "PRODUCER_FENCED",
    "kafkajs": "INVALID_PRODUCER_EPOCH",
}
EXPIRED: dict[str, dict[str, Any]] = {
    "java": {"error": "InvalidProducerEpochException", "continues": True},
    "old_java": {
        "error": "InvalidProducerEpochException",
        "continues": False,
        "fatal": "ProducerFencedException",
    },
    "franz_go": {"error": "INVALID_PRODUCER_EPOCH", "continues": True},
    "kafkajs": {
        "error": "INVALID_PRODUCER_EPOCH",
        "continues": False,
        "fatal": "INVALID_PRODUCER_EPOCH",
    },
}
TRANSACTIONAL = [CLIENTS["java"], OLD_JAVA, CLIENTS["franz_go"], CLIENTS["kafkajs"]]


@frozen(kw_only=True)
class Transactional:
    """A client and a broker for its transactions."""

    client: Client
    broker: BrokerProcess
    driver: Driver

    def ask(self, do: str, topic: str, **step: Any) -> Any:
        """Return the result of a step, with a transactional id that is new."""
        bootstrap, name = self.broker.bootstrap, f"id-{uuid4().hex[:12]}"
        return self.driver.ask(do, bootstrap=bootstrap, topic=topic, id=name, **step)


@pytest.fixture(scope="module")
def broker(
    broker_command: Command, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrokerProcess]:
    """Broker that soon aborts transactions that are too old."""
    directory = tmp_path_factory.mktemp("transactions")
    with broker_process(directory, *SETTINGS, command=broker_command) as process:
        yield process


@pytest.fixture(params=TRANSACTIONAL, ids=[client.name for client in TRANSACTIONAL])
def transactional(
    request: pytest.FixtureRequest,
    broker: BrokerProcess,
    drivers: Callable[[Client], Driver],
) -> Transactional:
    client: Client = request.param
    return Transactional(client=client, broker=broker, driver=drivers(client))


def test_committed_records_are_read_and_aborted_ones_are_not(transactional: Transactional) -> None:
    broker = transactional.broker
    topic = new_topic(broker, 2)
    transactions = [
        {
            "values": [(partition, value.decode()) for partition, value in records(number)],
            "commits": number % 2 == 0,
        }
        for number in range(TRANSACTIONS)
    ]

    transactional.ask("transact", topic, transactions=transactions)

    assert values(broker, topic, "read_committed") == COMMITTED
    assert values(broker, topic, "read_uncommitted") == WRITTEN


def test_offsets_are_committed_with_the_records_and_dropped_with_aborted_ones(
    transactional: Transactional,
) -> None:
    broker = transactional.broker
    source, target = new_topic(broker), new_topic(broker)
    expected = [f"{number:03}" for number in range(COUNT)]
    written = {"values": [(0, value) for value in expected], "commits": True}
    transactional.ask("transact", source, transactions=[written])

    offsets = transactional.ask(
        "copy", source, to=target, group=f"g-{target}", count=COUNT, protocol="classic"
    )

    assert values(broker, target, "read_committed", 1) == [value.encode() for value in expected]
    assert len(values(broker, target, "read_uncommitted", 1)) > COUNT
    assert offsets == {"after_abort": None, "committed": COUNT}


def test_first_of_two_producers_with_one_id_is_fenced(transactional: Transactional) -> None:
    topic = new_topic(transactional.broker)

    error = transactional.ask("fence", topic)

    assert error == FENCED[transactional.client.name]
    assert values(transactional.broker, topic, "read_committed", 1) == [b"new"]


def test_transaction_that_is_open_for_too_long_is_aborted(transactional: Transactional) -> None:
    topic = new_topic(transactional.broker)

    result = transactional.ask("expire", topic, timeout_ms=TIMEOUT_MS)

    assert result == EXPIRED[transactional.client.name]
    after = [b"after"] if result["continues"] else []
    assert values(transactional.broker, topic, "read_committed", 1) == after
