"""Producer ids for clients, from blocks that the controller allocates (KIP-730)."""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.node import Node, Part, at_once
from trio_kafka.introspect.declared_waits import CONTROLLER, waits_for
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.tree import Node as TreeNode
from trio_kafka.requests.parts import ProducerIds as ProducerIdsFace


class ProducerIds:
    """Sequence of producer ids; the rest of a block is lost at the stop.

    allocate: gets the next block from the controller: (first id, length).
    """

    def __init__(self, allocate: Callable[[], Awaitable[tuple[int, int]]], node: TreeNode) -> None:
        self._allocate = allocate
        self._next = self._end = 0
        self._issued = 0
        self._allocating = trio.Lock()  # one task allocates a block, the others wait for it
        node.add("producer-ids", "part", self._figures)

    @waits_for("change", CONTROLLER, "the controller to allocate producer ids")
    async def next_id(self) -> int:
        """Return a new id. Raises KafkaError if the controller cannot allocate a block."""
        while self._next == self._end:
            async with self._allocating:
                if self._next == self._end:
                    first, length = await self._allocate()
                    self._next, self._end = first, first + length
        producer_id = self._next
        self._next += 1
        self._issued += 1
        return producer_id

    def _figures(self) -> Figures:
        return {"next": self._next, "end": self._end, "given": self._issued}


def _make(node: Node) -> ProducerIds:
    return ProducerIds(node[Lifecycle].allocate_producer_ids, node.tree)


PRODUCER_IDS: Final = Part(kind=ProducerIds, open=at_once(_make), face=ProducerIdsFace)
