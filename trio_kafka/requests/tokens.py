"""The tokens of a group of handlers: as many run at once as there are.

As trio.CapacityLimiter, but to take a token that nobody waits for, and to give it back, costs 0.2
µs, there 1 µs: who parks does so twice. First come, first served.
"""

from collections import deque
from itertools import islice
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Figures, Node

_NAMED: Final = 4  # of those who hold a token


@frozen
class TokenStatistics:
    """As Trio's of a limiter."""

    total_tokens: int
    borrowed_tokens: int
    tasks_waiting: int


class Tokens:
    """`total_tokens` may change; who has one keeps it. free: how many may be taken at once."""

    __slots__ = ("_borrowers", "_total", "_waiting", "free")

    def __init__(self, total: int, node: Node, name: str) -> None:
        self._total = self.free = total
        self._borrowers: set[object] = set()
        self._waiting: deque[tuple[trio.lowlevel.Task, object]] = deque()
        node.add(name, "limiter", self._figures)

    @property
    def total_tokens(self) -> int:
        return self._total

    @total_tokens.setter
    def total_tokens(self, total: int) -> None:
        self.free += total - self._total
        self._total = total
        self._pass_on()

    @property
    def borrowed_tokens(self) -> int:
        return len(self._borrowers)

    async def take(self, borrower: object) -> None:
        """Take a token, which is given back once; waits only if none is free.

        A borrower has at most one token: for a borrower that has one, nothing is taken.
        """
        if borrower in self._borrowers:
            return
        if self.free > 0:  # then nobody waits: whoever did was given it
            self.take_nowait(borrower)
            return
        entry = trio.lowlevel.current_task(), borrower

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel
            self._waiting.remove(entry)
            return trio.lowlevel.Abort.SUCCEEDED

        self._waiting.append(entry)
        await trio.lowlevel.wait_task_rescheduled(abort)

    def take_nowait(self, borrower: object) -> None:
        """Take a token that is free, unless `borrower` has one."""
        if borrower not in self._borrowers:
            self.free -= 1
            self._borrowers.add(borrower)

    def give_back(self, borrower: object) -> None:
        self._borrowers.remove(borrower)
        self.free += 1
        if self._waiting:
            self._pass_on()

    def statistics(self) -> TokenStatistics:
        return TokenStatistics(self._total, len(self._borrowers), len(self._waiting))

    def _pass_on(self) -> None:
        """To those who wait: they hold theirs from now on."""
        while self._waiting and self.free > 0:
            task, borrower = self._waiting.popleft()
            self.take_nowait(borrower)
            trio.lowlevel.reschedule(task)

    def _figures(self) -> Figures:
        return {
            "tokens": self._total,
            "borrowed": len(self._borrowers),
            "waiting": len(self._waiting),
            "held_by": ", ".join(map(_name_of, islice(self._borrowers, _NAMED))),
        }


def _name_of(borrower: object) -> str:
    """What is served; of what has no name, what it is."""
    return str(getattr(borrower, "name", type(borrower).__name__))
