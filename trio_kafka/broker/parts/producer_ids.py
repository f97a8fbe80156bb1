"""Producer ids for clients, from blocks that the controller gives (KIP-730)."""

from collections.abc import Awaitable, Callable

import trio

from trio_kafka.introspect.tree import Figures, Node


class ProducerIds:
    """One id after the other; a block that is not used up is lost at the end.

    allocate: asks the controller for the next block: (first id, how many).
    """

    def __init__(self, allocate: Callable[[], Awaitable[tuple[int, int]]], node: Node) -> None:
        self._allocate = allocate
        self._next = self._end = 0
        self._given = 0
        self._asking = trio.Lock()  # whoever finds the block empty asks, the others wait for it
        node.add("producer-ids", "part", self._figures)

    async def next_id(self) -> int:
        """A new id. Raises KafkaError if the controller has none to give."""
        while self._next == self._end:
            async with self._asking:
                if self._next == self._end:
                    first, length = await self._allocate()
                    self._next, self._end = first, first + length
        found = self._next
        self._next += 1
        self._given += 1
        return found

    def _figures(self) -> Figures:
        return {"next": self._next, "end": self._end, "given": self._given}
