"""New connections on their way from the acceptor to a processor."""

from collections.abc import Callable

import trio

from trio_kafka.introspect.channels import Channel
from trio_kafka.introspect.tree import Node
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import ConnectionOwner
from trio_kafka.wire.frame import Framer


class NewConnections:
    """Channel of accepted sockets, `bound` at most.

    framer: makes the framer of a connection. ring: wakes the reader.
    refusing: new connections are closed. After `close` they are closed at once.
    """

    def __init__(
        self, bound: int, node: Node, framer: Callable[[], Framer], ring: Callable[[], None]
    ) -> None:
        self.slots: Channel[Slot] = Channel(
            bound, node, "new-connections", age_s=lambda slot: trio.current_time() - slot.since
        )
        self.refusing = False
        self._is_closed = False
        self._framer = framer
        self._ring = ring

    def give_nowait(self, slot: Slot) -> None:
        """Queue a new connection. Raises trio.WouldBlock when the channel is full."""
        if self._is_closed:  # the acceptor had it when the processor stopped
            slot.close()
            return
        self.slots.send_nowait(slot)
        self._ring()

    async def give(self, slot: Slot) -> None:
        """Queue a new connection; wait until there is room."""
        try:
            self.give_nowait(slot)
        except trio.WouldBlock:
            await self.slots.send(slot)
            self._ring()
        else:
            await trio.lowlevel.checkpoint()

    def take_nowait(self, owner: ConnectionOwner[Connection]) -> Connection | None:
        """Make the next one a connection; None: it was refused. Raises trio.WouldBlock."""
        slot = self.slots.receive_nowait()
        if self.refusing:
            slot.close()
            return None
        connection = Connection(slot.socket, owner, self._framer())
        connection.slot, slot.connection = slot, connection
        connection.principal = slot.principal
        return connection

    def close(self) -> None:
        """Close those that are queued, and later ones. Idempotent."""
        self._is_closed = True
        while self.slots.queued:
            self.slots.receive_nowait().close()
