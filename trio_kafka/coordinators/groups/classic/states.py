"""The states of a classic group, and which may follow which.

Source: ClassicGroupState of Apache Kafka 4.4.0.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class ClassicState(Enum):
    """The value is the text that Kafka's tools show."""

    EMPTY = "Empty"  # no members; it lingers while it has offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # members are asked to join; who has waits
    COMPLETING_REBALANCE = "CompletingRebalance"  # all know their generation; the leader assigns
    STABLE = "Stable"  # each member has what is assigned to it
    DEAD = "Dead"  # deleted, or led elsewhere


PREVIOUS: Final[Mapping[ClassicState, frozenset[ClassicState]]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}
"""From which states one is entered."""
