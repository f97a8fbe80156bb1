"""Trio's capacity limiters, known to the tree."""

import trio

from trio_kafka.introspect.tree import Figures, Node


def open_limiter(tokens: int, node: Node, name: str) -> trio.CapacityLimiter:
    """A limiter of `tokens` under `node`; it leaves the tree with that node."""
    limiter = trio.CapacityLimiter(tokens)

    def figures() -> Figures:
        now = limiter.statistics()
        return {
            "tokens": now.total_tokens,
            "borrowed": now.borrowed_tokens,
            "waiting": now.tasks_waiting,
        }

    node.add(name, "limiter", figures)
    return limiter
