"""Transactional ids of a broker under test: state, producer, partitions and age.

They are read from the coordinator itself, as Kafka before 3.0, which the broker may act as, has no
request that lists them.
"""

from typing import Final

import trio

from trio_kafka.controls.ask import LOADING_S, PAUSE_S
from trio_kafka.controls.running import HasParts
from trio_kafka.controls.values import Transaction
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction_facts import transaction_facts
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.facts.transactions import TransactionFacts

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

DEAD: Final = "Dead"


async def list_transactions(broker: HasParts) -> list[Transaction]:
    """Return all transactional ids with their states, sorted by id. Raises KafkaError."""
    coordinator = await _loaded_coordinator(broker)
    transactions = [
        _transaction(
            transaction_facts(
                transaction,
                machine,
                coordinator.marker_writer,
                coordinator.now_ms,
                may_describe=lambda _: True,
            )
        )
        for machine in coordinator.machines
        for transaction in machine.by_id.values()
    ]
    return sorted(transactions, key=lambda transaction: transaction.transactional_id)


async def describe_transaction(broker: HasParts, transactional_id: str) -> Transaction:
    """Return the state of a transactional id; one that does not exist is Dead.

    Raises KafkaError.
    """
    for transaction in await list_transactions(broker):
        if transaction.transactional_id == transactional_id:
            return transaction
    return Transaction(transactional_id=transactional_id, state=DEAD)


async def _loaded_coordinator(broker: HasParts) -> TransactionCoordinator:
    """Return the coordinator once all its partitions are loaded.

    Raises KafkaError: COORDINATOR_LOAD_IN_PROGRESS after 30 s, COORDINATOR_NOT_AVAILABLE after its
    stop.
    """
    coordinator = broker.parts[TransactionCoordinator]
    runtime = coordinator.runtime
    await trio.lowlevel.checkpoint()
    ends = trio.current_time() + LOADING_S
    while any(shard.state is ShardState.LOADING for shard in runtime.shards.values()):
        if trio.current_time() >= ends:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "transactions")
        await trio.sleep(PAUSE_S)
    if runtime.is_stopped:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "transactions")
    return coordinator


def _transaction(facts: TransactionFacts) -> Transaction:
    return Transaction(
        transactional_id=facts.transactional_id,
        state=facts.state,
        producer_id=facts.producer_id,
        producer_epoch=facts.epoch,
        partitions=tuple(
            (topic, n) for topic, numbers in facts.partitions.items() for n in numbers
        ),
        age_s=facts.age_s,
        timeout_s=facts.timeout_s,
    )
