"""New connections on their way from the acceptor to a processor."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from trio_kafka.introspect.channels import Receiver, Sender, open_channel
from trio_kafka.introspect.tree import Node
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.connection import Connection
from trio_kafka.wire.frame import Framer

if TYPE_CHECKING:
    from trio_kafka.network.processor import Processor


class Arrivals:
    """Of one processor. bound: how many may wait; ring: wakes the reader."""

    def __init__(
        self, bound: int, node: Node, framer: Callable[[], Framer], ring: Callable[[], None]
    ) -> None:
        self._send: Sender[Slot]
        self._receive: Receiver[Slot]
        self._send, self._receive = open_channel(
            bound, node, "new-connections", lambda slot: trio.current_time() - slot.since
        )
        self.counts = self._send.counts
        self.refuses = False  # who comes is closed
        self._framer = framer
        self._ring = ring

    def give_nowait(self, slot: Slot) -> None:
        """Take a new connection. Raises trio.WouldBlock when too many wait already."""
        self._send.send_nowait(slot)
        self._ring()

    async def give(self, slot: Slot) -> None:
        """The same, waiting until there is room."""
        await self._send.send(slot)
        self._ring()

    def adopt(self, processor: "Processor") -> Connection | None:
        """The next one as a connection; None: it was refused. One waits."""
        slot = self._receive.receive_nowait()
        if self.refuses:
            slot.close()
            return None
        connection = Connection(slot.socket, processor, self._framer())
        connection.slot, slot.connection = slot, connection
        return connection

    def close(self) -> None:
        """End all that wait."""
        while self.counts.queued:
            self._receive.receive_nowait().close()
