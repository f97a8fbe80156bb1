"""Transactions that hold back readers: hanging ones, and those that take long to end.

A `read_committed` reader gets nothing behind the first offset of the oldest open transaction of a
partition, which is its last stable offset.
"""

from collections.abc import Iterator
from typing import Final

from trio_kafka.introspect.facts.transactions import OpenTransactionFacts, TransactionFacts
from trio_kafka.introspect.waits import Subject
from trio_kafka_admin.findings.change import Change
from trio_kafka_admin.findings.finding import Finding
from trio_kafka_admin.findings.texts import counted, duration, short

_MARKERS_S: Final = 5.0  # markers of a healthy broker are written sooner
_MOST_EXPLAINED: Final = 100  # partitions of a topic
_LONG_S: Final = 60.0  # the timeout of Java's producer


def hanging_transaction(change: Change) -> Iterator[Finding]:
    """Yield the transactions that no coordinator ends, with the command that does."""
    for entry in change.now.open_transactions:
        if entry.verdict != "hanging":
            continue
        at = f"{entry.topic}-{entry.partition}"
        yield Finding(
            kind="hanging-transaction",
            title=f"a transaction of producer {entry.producer_id} hangs in {short(at)}",
            more=(
                f": no coordinator knows it, and its producer has written nothing for"
                f" {duration(entry.ago_s)}; {_readers(entry)}; end it with trio-kafka txn abort"
                f" --topic {short(entry.topic)} --partition {entry.partition} --start-offset"
                f" {entry.start}"
            ),
            subject=Subject("partition", at),
            severity="wrong",
            explains=(Subject("partition", at),),
            age_s=entry.ago_s,
        )


def unmarked_transaction(change: Change) -> Iterator[Finding]:
    """Yield the transactions that are decided, and whose markers are not written for long."""
    for transaction in change.now.transactions:
        if not transaction.state.startswith("Prepare") or transaction.state_s < _MARKERS_S:
            continue
        yield Finding(
            kind="unmarked-transaction",
            title=f"transaction {short(transaction.transactional_id)} cannot be completed",
            more=(
                f": {transaction.state} for {duration(transaction.state_s)}, it waits for"
                f" {transaction.waits_for}"
            ),
            subject=_subject(transaction),
            severity="wrong",
            explains=_partitions(transaction),
            hurt=transaction.parked,
            age_s=transaction.state_s,
        )


def long_transaction(change: Change) -> Iterator[Finding]:
    """Yield the transactions that are open for long, and hold back readers of a partition."""
    held = dict[str, list[OpenTransactionFacts]]()
    for entry in change.now.open_transactions:
        if entry.transactional_id is not None and entry.is_oldest and entry.held:
            held.setdefault(entry.transactional_id, []).append(entry)
    for transaction in change.now.transactions:
        entries = held.get(transaction.transactional_id, [])
        age_s = transaction.age_s
        if transaction.state != "Ongoing" or age_s is None or age_s < _LONG_S or not entries:
            continue
        first = max(entries, key=lambda entry: entry.held)
        at = f"{first.topic}-{first.partition}"
        others = f" and {counted(len(entries) - 1, 'partition')} more" if len(entries) > 1 else ""
        yield Finding(
            kind="long-transaction",
            title=(
                f"transaction {short(transaction.transactional_id)} is open for"
                f" {duration(age_s)} and holds back {short(at)}{others}"
            ),
            more=f": {_readers(first)}; {_end(transaction)}",
            subject=_subject(transaction),
            severity="watch",
            explains=tuple(
                Subject("partition", f"{entry.topic}-{entry.partition}") for entry in entries
            ),
            age_s=age_s,
        )


def _readers(entry: OpenTransactionFacts) -> str:
    offsets = counted(entry.held, "offset")
    return f"read_committed readers do not get {offsets} from {entry.start}"


def _end(transaction: TransactionFacts) -> str:
    if not transaction.left_s:
        return f"it is above its timeout of {duration(transaction.timeout_s)}"
    return f"it is aborted in {duration(transaction.left_s)} if its producer does not end it"


def _subject(transaction: TransactionFacts) -> Subject:
    return Subject("transaction", transaction.transactional_id)


def _partitions(transaction: TransactionFacts) -> tuple[Subject, ...]:
    return tuple(
        Subject("partition", f"{topic}-{number}")
        for topic, numbers in transaction.partitions.items()
        for number in numbers[:_MOST_EXPLAINED]
    )
