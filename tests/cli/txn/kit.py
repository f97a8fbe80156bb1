"""A broker with transactions of all kinds, and the commands that are asked about them."""

import time
from typing import Any

import pytest

from tests.apis.kit import batch, fetch_request, produce_request
from tests.apis.transactional_ids import add_request
from trio_kafka.cli import main
from trio_kafka.cli.broker_client import parse_address
from trio_kafka.coordinators.shards.effects import Effects
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.records import tombstone
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.blocking import BlockingConnection, connected
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.testing.kafka.threaded import Kafka

_FETCH = 12  # names topics
_PRODUCE = 11  # names topics, and verifies the partitions that were added
_AGAIN = {
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
}


def deadline() -> float:
    return time.monotonic() + 30


def initialize(link: BlockingConnection, name: str) -> ProducerIdentity:
    """Return id and epoch of a producer."""
    link.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), deadline=deadline())
    while True:
        request = InitProducerIdRequest(name, 60_000)
        answer = link.ask(request, deadline=deadline(), at_most=5)
        if answer.error_code not in _AGAIN:
            assert answer.error_code == 0
            return ProducerIdentity(answer.producer_id, answer.producer_epoch)
        time.sleep(0.02)


def begin(kafka: Kafka, name: str, topic: str) -> ProducerIdentity:
    """Begin a transaction with one record in partition 0."""
    address = parse_address(kafka.bootstrap)
    with connected(address, deadline=deadline(), client_id="test") as link:
        identity = initialize(link, name)
        link.ask(add_request(identity, {topic: [0]}, name), deadline=deadline(), at_most=3)
        records = batch(
            b"a",
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=0,
            transactional=True,
        )
        request = produce_request(topic, (0, records), acks=1)
        request.transactional_id = name
        answer: Any = link.ask(request, deadline=deadline(), at_most=_PRODUCE)
        assert answer.responses[0].partition_responses[0].error_code == 0
    return identity


def aborted_producers(kafka: Kafka, topic: str) -> list[int]:
    """Producers whose transactions a read_committed reader of partition 0 skips."""
    address = parse_address(kafka.bootstrap)
    with connected(address, deadline=deadline(), client_id="test") as link:
        request = fetch_request(topic, 0, isolation_level=1)
        answer: Any = link.ask(request, deadline=deadline(), at_most=_FETCH)
    (partition,) = answer.responses[0].partitions
    return [row.producer_id for row in partition.aborted_transactions or ()]


def forget(kafka: Kafka, name: str) -> None:
    """Lose the state of a transactional id, so that its open transaction hangs."""

    def lose(broker: Any) -> None:
        coordinator = broker[TransactionCoordinator].coordinator
        coordinator.apply(name, lambda _machine, _now_ms: Effects([tombstone(name)]))

    kafka.look(lose)


def run(kafka: Kafka, *arguments: str) -> int:
    return main(["txn", *arguments, "--bootstrap", kafka.bootstrap])


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line on standard error."""
    (line,) = capsys.readouterr().err.splitlines()
    return line
