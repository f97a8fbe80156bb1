"""Requests of a transactional producer to its coordinator, in a few words."""

from typing import Any

import trio

from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.testing.broker import ServedBroker

ID = "payments"
TRANSACTION = 1  # type of key
OLD_PROTOCOL, NEW_PROTOCOL = 4, 5  # versions of EndTxn


async def serve_transactions(served: ServedBroker, *names: str) -> None:
    """Wait until the coordinator of these transactional ids is available and has loaded them."""
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=list(names))
    while any(row.error_code for row in (await served.ask(request, 4)).coordinators):
        await trio.sleep(0.1)
    coordinator = served.broker[TransactionCoordinator]
    for name in names:
        while coordinator.coordinator.shard_of(name).state.value != "active":
            await trio.sleep(0.1)


async def initialize(served: ServedBroker, name: str = ID, version: int = 5) -> ProducerIdentity:
    """Return id and epoch of a new producer."""
    await serve_transactions(served, name)
    answer = await served.ask(InitProducerIdRequest(name, 60_000), version)
    assert answer.error_code == 0
    return ProducerIdentity(answer.producer_id, answer.producer_epoch)


def add_request(
    identity: ProducerIdentity, topics: dict[str, list[int]], name: str = ID
) -> AddPartitionsToTxnRequest:
    """Return the request of a client to add partitions."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(*topic) for topic in topics.items()],
    )


async def end(
    served: ServedBroker,
    identity: ProducerIdentity,
    *,
    commits: bool = True,
    version: int = OLD_PROTOCOL,
) -> Any:
    """Return the answer to EndTxn."""
    request = EndTxnRequest(ID, identity.producer_id, identity.epoch, commits)
    return await served.ask(request, version)


def state_of(served: ServedBroker, name: str = ID) -> str:
    """Return the state of a transactional id."""
    machine = served.broker[TransactionCoordinator].coordinator.shard_of(name).machine
    return machine.by_id[name].state.value


async def begin(
    served: ServedBroker, topics: dict[str, list[int]] | None = None, name: str = ID
) -> ProducerIdentity:
    """Begin a transaction with partitions, of topic t by default."""
    identity = await initialize(served, name)
    answer = await served.ask(add_request(identity, topics or {"t": [0]}, name), 3)
    assert {
        part.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    } == {0}
    return identity
