"""Trio's capacity limiters, with a node in the tree."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

import trio

from trio_kafka import held
from trio_kafka.attributes import frozen
from trio_kafka.introspect.tree import Figures, Node

_NAMED: Final = 4  # borrowers that are shown


@frozen(eq=False)
class LimiterLedger:
    """Ledger of a Trio limiter. name: kind of its tokens."""

    name: str
    limiter: trio.CapacityLimiter

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {f"limit {self.name}": int(self.limiter.borrowed_tokens)}


def open_limiter(tokens: int, node: Node, name: str) -> trio.CapacityLimiter:
    """Open a limiter of `tokens` with a node under `node`, removed with that node."""
    limiter = trio.CapacityLimiter(tokens)
    held.opened(LimiterLedger(name, limiter))

    def figures() -> Figures:
        now = limiter.statistics()
        return {
            "tokens": now.total_tokens,
            "borrowed": now.borrowed_tokens,
            "waiting": now.tasks_waiting,
            "held_by": holders(now.borrowers),
        }

    node.add(name, "limiter", figures)
    return limiter


def holders(borrowers: Iterable[object]) -> str:
    """Return the names of some borrowers, for the tree."""
    return ", ".join(map(_name_of, islice(borrowers, _NAMED)))


def _name_of(borrower: object) -> str:
    """Return the name of a task, or the type of another borrower."""
    return str(getattr(borrower, "name", type(borrower).__name__))
