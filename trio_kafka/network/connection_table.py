"""The open connections of a processor: added here, closed here."""

from collections import deque
from typing import Any, Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.log_pace import LogPace
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.tree import Node
from trio_kafka.network.closed_connections import LONGEST, MOST, ClosedConnection
from trio_kafka.network.connection import Connection
from trio_kafka.network.outgoing import release
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.world.protocols import Selector

logger = get_logger(__name__)

_LINES: Final = 20  # about clients that are in error, in a second
# Reasons that no operator has to act on. A reset (GONE) is the client's own affair.
_QUIET: Final = frozenset(
    {
        CloseReason.LEFT,
        CloseReason.GONE,
        CloseReason.IDLE,
        CloseReason.EXCEEDED,
        CloseReason.DRAINED,
        CloseReason.STOPPED,
        CloseReason.UNAUTHENTICATED,  # logged with its own reason already
        CloseReason.EXPIRED,
    }
)


@define(eq=False)
class ConnectionTable:
    """Open connections by key of the socket, oldest first. recently_closed: the last ones that were
    closed, the newest last.
    """

    _selector: Selector
    _counters: Counters
    _listener: str
    _node: Node
    by_key: dict[int, Connection] = field(factory=dict, init=False)
    accepted: int = field(default=0, init=False)
    recently_closed: deque[ClosedConnection] = field(factory=lambda: deque(maxlen=MOST), init=False)
    _pace: LogPace = field(factory=lambda: LogPace(_LINES), init=False)
    # Set when the first connection was added, or the last one closed.
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def __len__(self) -> int:
        return len(self.by_key)

    def all(self) -> list[Connection]:
        """Return a copy, for loops in which connections may close."""
        return list(self.by_key.values())

    def add(self, connection: Connection) -> None:
        """Register a new connection with the selector and the tree."""
        connection.progress = trio.current_time()
        connection.origin.number = self.accepted
        connection.node = self._node.add(f"{self.accepted}", "connection", connection.figures)
        self.accepted += 1
        self._selector.register(connection.socket.beneath)
        self.by_key[connection.key] = connection
        if len(self.by_key) == 1:
            self._change()

    def close(
        self, connection: Connection, reason: CloseReason, detail: str = "", *, reset: bool = False
    ) -> None:
        """Close a connection now; count and log the reason. Idempotent.

        Cancels what is parked for it and releases the leases of its answers. Buffers are given back
        at once, except a frame that a handler reads: that one is given back with its answer.
        """
        if connection.closed:
            return
        connection.closed = True
        self._remember(connection, reason, detail)
        del self.by_key[connection.key]
        connection.node.remove()
        self._selector.unregister(connection.socket.beneath)
        if reset:
            connection.socket.abort()
        else:
            connection.socket.close()
        if connection.slot is not None:
            connection.slot.release()
        self._counters.add("connections_closed", listener=self._listener, reason=reason)
        self._log(connection, reason, detail)
        muted = connection.muted
        handled = muted & MuteReason.IN_FLIGHT and not muted & MuteReason.CHANNEL_FULL
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

    def _remember(self, connection: Connection, reason: CloseReason, detail: str) -> None:
        self.recently_closed.append(
            ClosedConnection(
                connection.origin,
                connection.latest_client_id[:LONGEST],
                reason,
                detail[:LONGEST],
                None if connection.slot is None else connection.slot.since,
                trio.current_time(),
                connection.requests,
            )
        )

    def _log(self, connection: Connection, reason: CloseReason, detail: str) -> None:
        peer = str(connection.peer)
        if reason in _QUIET:
            logger.debug("connection closed", peer=peer, reason=reason, detail=detail)
            return
        others = self._pace.admit(trio.current_time())
        if others is not None:
            more: dict[str, Any] = {"others": others} if others else {}
            logger.warning("connection closed", peer=peer, reason=reason, detail=detail, **more)

    async def wait_occupied(self) -> None:
        """Wait until there is a connection."""
        while not self.by_key:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    async def wait_empty(self) -> None:
        """Wait until there is no connection."""
        while self.by_key:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
