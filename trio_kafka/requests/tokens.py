"""Tokens of a handler group: a limiter of concurrent async handlers.

Works like trio.CapacityLimiter, first come, first served. Taking and giving back a token costs 0.2
µs instead of 1 µs, and every parked request does both twice.
"""

from collections import deque
from collections.abc import Mapping

import trio

from trio_kafka import held
from trio_kafka.introspect.limiter import holders
from trio_kafka.introspect.tree import Figures, Node


class Tokens:
    """Limiter whose `total_tokens` may change. free: tokens that can be taken without waiting."""

    __slots__ = ("_borrowers", "_total", "_waiting", "free")

    def __init__(self, total: int, node: Node, name: str) -> None:
        self._total = self.free = total
        self._borrowers: set[object] = set()
        self._waiting: deque[tuple[trio.lowlevel.Task, object]] = deque()
        node.add(name, "limiter", self._figures)
        held.opened(self)

    @property
    def total_tokens(self) -> int:
        """Number of tokens; a decrease does not take tokens from their holders."""
        return self._total

    @total_tokens.setter
    def total_tokens(self, total: int) -> None:
        self.free += total - self._total
        self._total = total
        self._pass_on()

    @property
    def borrowed_tokens(self) -> int:
        """Number of tokens that are held."""
        return len(self._borrowers)

    @property
    def holders(self) -> tuple[object, ...]:
        """Borrowers that hold a token."""
        return tuple(self._borrowers)

    @property
    def takers(self) -> tuple[object, ...]:
        """Borrowers that wait for a token, in turn."""
        return tuple(borrower for _, borrower in self._waiting)

    async def take(self, borrower: object) -> None:
        """Take a token; waits only if none is free.

        A borrower has at most one token, so taking a second one changes nothing.
        """
        if self.take_nowait(borrower):
            return
        entry = trio.lowlevel.current_task(), borrower

        def abort(raise_cancel: object) -> trio.lowlevel.Abort:
            del raise_cancel
            self._waiting.remove(entry)
            return trio.lowlevel.Abort.SUCCEEDED

        self._waiting.append(entry)
        await trio.lowlevel.wait_task_rescheduled(abort)

    def take_nowait(self, borrower: object) -> bool:
        """Return whether `borrower` has a token now; it has at most one."""
        if borrower in self._borrowers:
            return True
        if self.free <= 0:
            return False
        self.free -= 1
        self._borrowers.add(borrower)
        return True

    def give_back(self, borrower: object) -> None:
        """Give a token back; the first waiting task gets it."""
        self._borrowers.remove(borrower)
        self.free += 1
        if self._waiting:
            self._pass_on()

    @property
    def waiting(self) -> int:
        """Number of tasks that wait for a token."""
        return len(self._waiting)

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {"handler tokens": len(self._borrowers), "waits for tokens": len(self._waiting)}

    def _pass_on(self) -> None:
        """Give free tokens to waiting tasks, and wake them."""
        while self._waiting and self.free > 0:
            task, borrower = self._waiting.popleft()
            self.take_nowait(borrower)
            trio.lowlevel.reschedule(task)

    def _figures(self) -> Figures:
        return {
            "tokens": self._total,
            "borrowed": len(self._borrowers),
            "waiting": len(self._waiting),
            "held_by": holders(self._borrowers),
        }
