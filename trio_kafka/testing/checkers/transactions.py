"""Rules about transactions. Each returns its violations, in the order of the history.

Readers of the history read with `isolation.level=read_committed`, and so does the log that it is
compared with. Offsets give the order of a partition, so each rule is one pass over history and log.
Lost and doubled records of transactions are found by the rules of `records`.
"""

from collections.abc import Hashable

from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import History, Read
from trio_kafka.testing.checkers.outcomes import NotedOutcome, Outcome, Outcomes, outcomes_of
from trio_kafka.testing.checkers.violation import Log, Violation, shown


def aborted_reads(history: History, log: Log) -> list[Violation]:
    """Check that no record is seen of a transaction that was aborted or never committed."""
    outcomes = outcomes_of(history)
    violations = []
    for event in history.of(Read):
        how = f"read by {event.consumer}"
        violations += _unseen(outcomes, event.at, event.offset, record=event.record, how=how)
    for at, records in log.items():
        for offset, record in records.items():
            how = "among the committed records of the log"
            violations += _unseen(outcomes, at, offset, record=record, how=how)
    return violations


def _unseen(
    outcomes: Outcomes, at: TopicPartition, offset: int, *, record: Hashable, how: str
) -> list[Violation]:
    """Return the violation of a record that must not be seen, if it is one."""
    candidates = outcomes.candidates(at, offset, record)
    if not candidates or any(transaction.may_be_seen for transaction in candidates):
        return []
    transaction = candidates[-1]
    text = (
        f"{shown(record)} at offset {offset} of {at} was {how};"
        f" its transaction {transaction.name} was {transaction.outcome.value}"
    )
    return [Violation(rule="aborted read", partition=at, offsets=(offset,), text=text)]


def early_reads(history: History) -> list[Violation]:
    """Check that no record is read before its producer asks for the commit of its transaction."""
    outcomes = outcomes_of(history)
    violations = []
    for place, event in enumerate(history.events):
        if not isinstance(event, Read):
            continue
        candidates = outcomes.candidates(event.at, event.offset, event.record)
        visible = [transaction for transaction in candidates if transaction.may_be_seen]
        if visible and all(place < transaction.committing for transaction in visible):
            text = (
                f"{event.consumer} read {shown(event.record)} at offset {event.offset} of"
                f" {event.at} before the commit of its transaction {visible[-1].name}"
            )
            violations.append(
                Violation(rule="early read", partition=event.at, offsets=(event.offset,), text=text)
            )
    return violations


def torn_transactions(history: History, log: Log) -> list[Violation]:
    """Check that a transaction of unknown outcome is in the log as a whole, or not at all.

    Missing records of a committed one are `lost_records`.
    """
    values = {at: set(records.values()) for at, records in log.items()}
    violations = []
    for transaction in outcomes_of(history).by_name.values():
        if transaction.outcome is Outcome.UNKNOWN:
            violations += _torn(transaction, log, values)
    return violations


def _torn(
    transaction: NotedOutcome, log: Log, values: dict[TopicPartition, set[Hashable]]
) -> list[Violation]:
    there: list[tuple[TopicPartition, int, Hashable]] = []
    missing: list[tuple[TopicPartition, int, Hashable]] = []
    for at, offset, record in transaction.records:
        is_there = offset in log.get(at, {}) if offset >= 0 else record in values.get(at, ())
        (there if is_there else missing).append((at, offset, record))
    if not there or not missing:
        return []
    at, offset, record = missing[0]
    text = (
        f"transaction {transaction.name} is in the log with {len(there)} of"
        f" {len(there) + len(missing)} records; {shown(record)} at offset {offset} of {at} is not"
    )
    return [Violation(rule="torn", partition=at, offsets=(offset,), text=text)]
