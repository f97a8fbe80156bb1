"""A limiter that the tree knows."""

import trio

from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.tree import Node


async def test_a_limiter_is_in_the_tree_with_its_figures() -> None:
    node = Node("plane", "plane")
    limiter = open_limiter(2, node, "threads")

    async with limiter:
        (child,) = node.children
        assert (child.name, child.kind) == ("threads", "limiter")
        figures = dict(child.figures())
    assert "test_a_limiter_is_in_the_tree" in str(figures.pop("held_by"))
    assert figures == {"tokens": 2, "borrowed": 1, "waiting": 0}
    assert limiter.borrowed_tokens == 0
    await trio.lowlevel.checkpoint()
