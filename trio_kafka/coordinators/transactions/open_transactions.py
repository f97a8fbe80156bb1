"""Transactions that are open in partitions, and whether a coordinator will end them.

A transaction hangs if its coordinator does not know it: no timeout ends it, and `read_committed`
readers wait for ever. An older broker, a lost `__transaction_state` or a late batch leaves one.
Source: TransactionsCommand.FindHangingTransactionsCommand of Apache Kafka 4.4.0; KIP-664.
"""

from collections.abc import Callable
from itertools import chain
from typing import Final

from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.introspect.facts.transactions import (
    OpenTransactionFacts,
    OpenTransactions,
    Verdict,
)
from trio_kafka.replication.open_transactions import OpenInLog, open_transactions
from trio_kafka.replication.table import Replicas
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 256  # ids or transactions


def judged_transactions(
    coordinator: TransactionCoordinator,
    replicas: Replicas,
    is_visible: Callable[[str], bool],
    may_describe_id: Callable[[str], bool],
    *,
    most: int,
) -> Steps[OpenTransactions]:
    """Return the open transactions of the partitions that are led here.

    is_visible: of a topic. may_describe_id: of a transactional id; others are not named.
    Every id is looked at only if one of the transactions is in none that is open.
    """
    candidates, total = yield from open_transactions(replicas, is_visible, most)
    by_producer = yield from _open_ids(coordinator)
    if any(entry.producer_id not in by_producer for entry in candidates):
        producer_ids = {entry.producer_id for entry in candidates}
        by_producer = yield from _ids_of(coordinator, producer_ids)
    facts = list[OpenTransactionFacts]()
    now_ms = coordinator.now_ms
    for number, entry in enumerate(candidates, 1):
        # Both sides are looked at in one step: the transaction may have ended meanwhile.
        if entry.is_open:
            owner = _owner(coordinator, entry, by_producer)
            facts.append(_facts(entry, owner, coordinator, now_ms, may_describe_id))
        if not number % _A_STEP:
            yield
    facts.sort(key=lambda entry: (entry.verdict != "hanging", -entry.ago_s))
    return OpenTransactions(listed=tuple(facts), total=max(total, len(facts)))


def _open_ids(coordinator: TransactionCoordinator) -> Steps[dict[int, str]]:
    """Return the ids with an open transaction, by producer id."""
    by_producer, number = dict[int, str](), 0
    for machine in coordinator.machines:
        for name in tuple(chain(machine.ongoing, coordinator.marker_writer.names)):
            transaction = machine.by_id.get(name)
            if transaction is not None:
                by_producer[transaction.producer_id] = name
            number += 1
            if not number % _A_STEP:
                yield
    return by_producer


def _ids_of(coordinator: TransactionCoordinator, producer_ids: set[int]) -> Steps[dict[int, str]]:
    by_producer, number = dict[int, str](), 0
    for machine in coordinator.machines:
        for transaction in tuple(machine.by_id.values()):
            if transaction.producer_id in producer_ids:
                by_producer[transaction.producer_id] = transaction.transactional_id
            number += 1
            if not number % _A_STEP:
                yield
    return by_producer


def _owner(
    coordinator: TransactionCoordinator, entry: OpenInLog, by_producer: dict[int, str]
) -> Transaction | None:
    """Return the newest state of the id to which a producer belongs."""
    name = by_producer.get(entry.producer_id)
    if name is None:
        return None
    return next(
        (machine.by_id[name] for machine in coordinator.machines if name in machine.by_id), None
    )


def _facts(
    entry: OpenInLog,
    owner: Transaction | None,
    coordinator: TransactionCoordinator,
    now_ms: int,
    may_describe_id: Callable[[str], bool],
) -> OpenTransactionFacts:
    log = entry.partition.leading
    high_watermark = entry.start if log is None else log.high_watermark
    name = None if owner is None else owner.transactional_id
    return OpenTransactionFacts(
        topic=entry.at.topic,
        partition=entry.at.partition,
        producer_id=entry.producer_id,
        epoch=entry.epoch,
        coordinator_epoch=entry.coordinator_epoch,
        start=entry.start,
        is_oldest=entry.is_oldest,
        held=max(high_watermark - entry.start, 0),
        last_ms=entry.last_ms,
        ago_s=max(now_ms - entry.last_ms, 0) / 1000,
        transactional_id=name if name is not None and may_describe_id(name) else None,
        verdict=_verdict(entry, owner, is_complete=coordinator.is_complete),
    )


def _verdict(entry: OpenInLog, owner: Transaction | None, *, is_complete: bool) -> Verdict:
    if owner is not None and entry.at in owner.partitions:
        return "known"
    return "hanging" if owner is not None or is_complete else "unclear"
