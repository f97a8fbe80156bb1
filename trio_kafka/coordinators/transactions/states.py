"""States of a transaction, and the one table of its transitions.

`docs/design/transactions.md` draws its diagram from this table:
`python -m tests.coordinators.transactions.diagram` writes it. Two states of Kafka are never
entered here. PrepareEpochFence is Kafka's state while the fencing of a producer is not committed;
here a fence and the abort that follows are one event. Dead is Kafka's state while the tombstone of
an expired id is not committed. Source: TransactionState of Apache Kafka 4.4.0; KIP-98, KIP-890.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class TransactionState(Enum):
    """State of a transactional id. The value is the text that Kafka's tools print."""

    EMPTY = "Empty"  # the producer has an id, and no transaction yet
    ONGOING = "Ongoing"  # has partitions or groups
    PREPARE_COMMIT = "PrepareCommit"  # the decision is stored; markers are being written
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"  # every partition has its marker
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


STORED_STATES: Final[Mapping[int, TransactionState]] = dict(
    enumerate(
        (
            TransactionState.EMPTY,
            TransactionState.ONGOING,
            TransactionState.PREPARE_COMMIT,
            TransactionState.PREPARE_ABORT,
            TransactionState.COMPLETE_COMMIT,
            TransactionState.COMPLETE_ABORT,
        )
    )
)
"""States by their number in a record. 6 (Dead) and 7 (PrepareEpochFence) are never written."""
STORED_NUMBERS: Final[Mapping[TransactionState, int]] = {
    state: number for number, state in STORED_STATES.items()
}
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
"""States in which markers are being written. A producer is told to wait."""
IDLE: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)
"""States without a transaction: the id may begin one, or expire."""


class TransactionEvent(Enum):
    """Change of the state of a transactional id. The value is shown in the diagram."""

    PRODUCER_BEGINS = "InitProducerId"
    PARTITIONS_ADDED = "partitions or a group are added"
    COMMIT = "EndTxn: commit"
    ABORT = "EndTxn: abort; the timeout; or a new producer of this id"
    ABORT_OF_NOTHING = "EndTxn: abort, without partitions (version 2)"
    MARKERS_WRITTEN = "every partition has its marker"


TRANSITIONS: Final[Mapping[tuple[TransactionState, TransactionEvent], TransactionState]] = {
    **{(state, TransactionEvent.PRODUCER_BEGINS): TransactionState.EMPTY for state in IDLE},
    **{
        (state, TransactionEvent.PARTITIONS_ADDED): TransactionState.ONGOING
        for state in (*IDLE, TransactionState.ONGOING)
    },
    (TransactionState.ONGOING, TransactionEvent.COMMIT): TransactionState.PREPARE_COMMIT,
    (TransactionState.ONGOING, TransactionEvent.ABORT): TransactionState.PREPARE_ABORT,
    **{
        (state, TransactionEvent.ABORT_OF_NOTHING): TransactionState.PREPARE_ABORT for state in IDLE
    },
    (
        TransactionState.PREPARE_COMMIT,
        TransactionEvent.MARKERS_WRITTEN,
    ): TransactionState.COMPLETE_COMMIT,
    (
        TransactionState.PREPARE_ABORT,
        TransactionEvent.MARKERS_WRITTEN,
    ): TransactionState.COMPLETE_ABORT,
}
"""State after an event. An event that is missing for a state cannot happen in it."""
