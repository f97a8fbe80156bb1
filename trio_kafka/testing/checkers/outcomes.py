"""Outcomes of the transactions of a history, and the transaction that a record is part of."""

from collections import defaultdict
from collections.abc import Hashable
from enum import Enum
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import TopicPartition
from trio_kafka.testing.checkers.history import (
    Acknowledged,
    History,
    Sent,
    TransactionCommitting,
    TransactionEnded,
)

Place = tuple[TopicPartition, int]
NEVER: Final = 1 << 62  # place in the history


class Outcome(Enum):
    """End of a transaction, as its client knows it."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "of unknown outcome"
    OPEN = "never committed"  # its producer has not asked for a commit


@define(eq=False, kw_only=True)
class NotedOutcome:
    """One transaction. committing: place in the history from which it may be committed.

    records: acknowledged ones, with partition and offset; -1: unknown.
    """

    name: str
    committing: int = NEVER
    ended: Outcome | None = None
    records: list[tuple[TopicPartition, int, Hashable]] = field(factory=list)

    @property
    def outcome(self) -> Outcome:
        if self.ended is not None:
            return self.ended
        return Outcome.OPEN if self.committing == NEVER else Outcome.UNKNOWN

    @property
    def may_be_seen(self) -> bool:
        """True if its records may be visible to readers."""
        return self.outcome in {Outcome.COMMITTED, Outcome.UNKNOWN}


@define(eq=False)
class Outcomes:
    """Transactions by name, by the places of their records, and by the records themselves.

    A record may be sent again in a later transaction, as after an abort.
    """

    by_name: dict[str, NotedOutcome] = field(factory=dict)
    by_place: dict[Place, NotedOutcome] = field(factory=dict)
    by_record: dict[tuple[str, Hashable], list[NotedOutcome]] = field(
        factory=lambda: defaultdict(list)
    )

    def of(self, name: str) -> NotedOutcome:
        """Return a transaction; a new one if nothing was noted of it."""
        transaction = self.by_name.get(name)
        if transaction is None:
            transaction = self.by_name[name] = NotedOutcome(name=name)
        return transaction

    def candidates(self, at: TopicPartition, offset: int, record: Hashable) -> list[NotedOutcome]:
        """Return the transactions that a record of a partition may be part of; none: of no one."""
        transaction = self.by_place.get((at, offset))
        if transaction is not None:
            return [transaction]
        return self.by_record.get((at.topic, record), [])

    def may_be_lost(self, name: str | None) -> bool:
        """Return whether readers need not see the records of a transaction. None: of no one."""
        return name is not None and self.of(name).outcome is not Outcome.COMMITTED

    def must_be_unseen(self, name: str | None) -> bool:
        """Return whether readers must not see the records of a transaction. None: of no one."""
        return name is not None and not self.of(name).may_be_seen


def outcomes_of(history: History) -> Outcomes:
    """Return the transactions of a history. Linear in its length."""
    outcomes = Outcomes()
    for place, event in enumerate(history.events):
        match event:
            case Sent(transaction=str(name)):
                outcomes.by_record[event.topic, event.record].append(outcomes.of(name))
            case Acknowledged(transaction=str(name)):
                transaction = outcomes.of(name)
                transaction.records.append((event.at, event.offset, event.record))
                if event.offset >= 0:
                    outcomes.by_place[event.at, event.offset] = transaction
            case TransactionCommitting():
                transaction = outcomes.of(event.transaction)
                transaction.committing = min(transaction.committing, place)
            case TransactionEnded():
                ended = Outcome.COMMITTED if event.committed else Outcome.ABORTED
                outcomes.of(event.transaction).ended = ended
    return outcomes
