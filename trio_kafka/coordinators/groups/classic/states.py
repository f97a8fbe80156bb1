"""States of a classic group, and the transitions between them. Source: ClassicGroupState of Apache
Kafka 4.4.0.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final


class ClassicState(Enum):
    """State of a classic group. The value is the text that Kafka's tools print."""

    EMPTY = "Empty"  # no members; kept while it has offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # members must join; joins are pending
    COMPLETING_REBALANCE = (
        "CompletingRebalance"  # members know their generation; the leader assigns
    )
    STABLE = "Stable"  # every member has its assignment
    DEAD = "Dead"  # deleted or converted


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
