"""Trio's capacity limiters, known to the tree."""

from itertools import islice
from typing import Final

import trio

from trio_kafka.introspect.tree import Figures, Node

_NAMED: Final = 4  # of those who hold a token


def open_limiter(tokens: int, node: Node, name: str) -> trio.CapacityLimiter:
    """A limiter of `tokens` under `node`; it leaves the tree with that node."""
    limiter = trio.CapacityLimiter(tokens)

    def figures() -> Figures:
        now = limiter.statistics()
        return {
            "tokens": now.total_tokens,
            "borrowed": now.borrowed_tokens,
            "waiting": now.tasks_waiting,
            "held_by": ", ".join(map(_name_of, islice(now.borrowers, _NAMED))),
        }

    node.add(name, "limiter", figures)
    return limiter


def _name_of(borrower: object) -> str:
    """A task by its name; of what has none, what it is."""
    return str(getattr(borrower, "name", type(borrower).__name__))
