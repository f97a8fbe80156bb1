"""Waits in place: a reader that moves much for one peer looks at its own selector for a moment
instead of parking.

A large answer goes to its socket in some pieces, and the peer makes room for the next one within
0.1 ms: to park in between costs a pass of the loop for each, half of what such a fetch costs on a
machine that has nothing else to do. Nobody else runs meanwhile, so it is done only where nobody
else has lately, and once in vain ends it for a while.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.introspect.tree import Figures
from trio_kafka.scheduling.loop_budget import LoopBudget

LONGEST_S: Final = 0.001  # epoll knows nothing shorter
ALONE_S: Final = 0.05  # without company, before one waits in place; and after it was in vain


class Lingering:
    """Of one reader. poll: of its selector."""

    def __init__(
        self, budget: LoopBudget, poll: Callable[[float, int], list[tuple[int, int]]]
    ) -> None:
        self._budget = budget
        self._poll = poll
        self._not_before = 0.0
        self._waits = 0
        self._vain = 0

    def edges(self, limit: int) -> list[tuple[int, int]]:
        """What is there, or comes within a moment where this is the time to wait."""
        budget = self._budget
        alone = budget.time >= budget.shared + ALONE_S and not budget.yield_point.bound
        if budget.time < self._not_before or not alone:
            return self._poll(0, limit)
        edges = self._poll(LONGEST_S, limit)
        self._waits += 1
        if not edges:
            self._vain += 1
            self._not_before = budget.time + ALONE_S
        return edges

    def figures(self) -> Figures:
        return {"waits_in_place": self._waits, "in_vain": self._vain}
