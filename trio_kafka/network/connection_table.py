"""The connections of a processor: how they come and how they go."""

from typing import Final

import trio

from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.network import connection_events as events
from trio_kafka.network.connection import Connection
from trio_kafka.network.outgoing import release
from trio_kafka.world.protocols import Selector

logger = get_logger(__name__)

# Reasons that no operator has to act on: a client's reset (GONE) is its own affair.
_QUIET: Final = frozenset(
    {
        events.LEFT,
        events.GONE,
        events.IDLE,
        events.EXCEEDED,
        events.DRAINED,
        events.STOPPED,
    }
)


class Roster:
    """By key of the socket, in the order in which they came."""

    def __init__(self, selector: Selector, counters: Counters, listener: str, node: Node) -> None:
        self.by_key: dict[int, Connection] = {}
        self.accepted = 0
        self._selector = selector
        self._counters = counters
        self._listener = listener
        self._node = node
        self._changed = trio.Event()  # the first one came, or the last one went

    def add(self, connection: Connection) -> None:
        """Take a new connection into the selector and the tree."""
        connection.progress = trio.current_time()
        connection.origin.number = self.accepted
        connection.node = self._node.add(f"{self.accepted}", "connection", connection.figures)
        self.accepted += 1
        self._selector.register(connection.socket)
        self.by_key[connection.key] = connection
        if len(self.by_key) == 1:
            self._change()

    def close(
        self, connection: Connection, reason: str, detail: str = "", *, reset: bool = False
    ) -> None:
        """Close a connection now; count and tell why. Idempotent.

        What waits for its sake is dropped, and the leases of an answer are released. A frame that a
        handler reads is given back with its answer, everything else at once.
        """
        if connection.closed:
            return
        connection.closed = True
        del self.by_key[connection.key]
        connection.node.remove()
        self._selector.unregister(connection.socket)
        if reset:
            connection.socket.abort()
        else:
            connection.socket.close()
        if connection.slot is not None:
            connection.slot.release()
        self._counters.add("connections_closed", listener=self._listener, reason=reason)
        tell = logger.debug if reason in _QUIET else logger.warning
        tell("connection closed", peer=str(connection.peer), reason=reason, detail=detail)
        handled = connection.muted & events.IN_HAND and not connection.muted & events.CHANNEL_FULL
        if connection.out is not None:
            connection.out.release()
            connection.out = None
        for _, segments in connection.answers or ():
            release(segments)
        connection.answers = None
        if connection.parked is not None:
            connection.parked()
        if not handled:
            connection.request = None
            connection.framer.drop()
        if not self.by_key:
            self._change()

    async def wait_occupied(self) -> None:
        """Until there is a connection."""
        while not self.by_key:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    async def wait_empty(self) -> None:
        """Until there is none."""
        while self.by_key:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
