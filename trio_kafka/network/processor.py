"""A processor: a reader and a writer task over one edge-triggered selector.

How it works. Connections are objects in a table, not tasks. An edge that the kernel reports only
sets a flag and puts the connection into the ready queue. The reader takes ready connections in
order, receives what is there and cuts it into frames. It serves a plain request at once, or hands
it to the request channel. The connection is then muted: one request of it is in flight, so answers
keep their order. The answer comes back as an event of the writer, which sends as much as the socket
takes, keeps the rest until the socket is writable again, and unmutes the connection after the last
byte. Neither task ever waits for a full request channel: the connection keeps its request until a
handler makes room.
"""

import trio

from trio_kafka.introspect.channels import Channel
from trio_kafka.introspect.recent_share import ParkedTime
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.authentication.phase import AuthenticationPhase
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.idle_timeout import close_idle, close_slow_readers
from trio_kafka.network.metered import framers
from trio_kafka.network.new_connections import NewConnections
from trio_kafka.network.reader import Reader
from trio_kafka.network.reasons import BUSY, CloseReason, MuteReason
from trio_kafka.network.request import Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.network.writer import Change, Writer
from trio_kafka.wire.frame import FrameLimits


class Processor:
    """Owns the connections that an acceptor gave it, until cancelled.

    table: its connections. new_connections: where an acceptor puts them.
    authentication: None: the listener has none.
    scope: cancel it to end `run`.
    """

    def __init__(
        self, name: str, resources: PlaneResources, listener: ListenerSettings, node: Node
    ) -> None:
        self.name = name
        self.listener = listener
        self.resources = resources
        self.scope = trio.CancelScope()
        self._selector = resources.world.network.selector()
        self._node = node.add(name, "selector", self.figures)
        self.table = ConnectionTable(self._selector, resources.counters, listener.name, self._node)
        largest = FrameLimits(
            whole=listener.largest_frame,
            common=listener.largest_common_frame,
            declared=resources.handlers.largest_request,
        )
        framer = framers(resources.memory, resources.buffers, largest)
        self.new_connections = NewConnections(
            listener.new_connections, self._node, framer, self._ring
        )
        self.writer = Writer(resources, self.table, self._node)
        self.answer = (
            self.writer.answer
        )  # see `ConnectionOwner`; bound once, as each answer calls it
        self.reader = Reader(
            resources, self._selector, self.table, self.writer, self.new_connections
        )
        self.authentication = self._authenticate(largest)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled, then close every connection; started when it can take some."""
        idle_s = self.listener.idle_s
        try:
            with self.scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.reader.run, self, name=f"{self.name}-reader")
                    nursery.start_soon(self.writer.run, name=f"{self.name}-writer")
                    cold_reads = self.writer.cold_reads
                    nursery.start_soon(cold_reads.run, name=f"{self.name}-cold-reads")
                    if self.authentication is not None:
                        failures = self.authentication.failures
                        nursery.start_soon(failures.run, name=f"{self.name}-unauthenticated")
                        deadlines = self.authentication.deadlines
                        nursery.start_soon(deadlines.run, name=f"{self.name}-logins")
                    if idle_s < float("inf"):
                        nursery.start_soon(close_idle, self.table, idle_s, name=f"{self.name}-idle")
                    task_status.started()
        finally:
            self._stop()

    def _authenticate(self, whole: FrameLimits) -> AuthenticationPhase | None:
        """Make the phase of authentication, if the listener has one.

        whole: limits of the frames of an authenticated client.
        """
        authentication = self.resources.authentication(self.listener)
        if authentication is None:
            return None
        phase = AuthenticationPhase(
            authentication,
            self.writer.sender,
            self.resources.budget,
            queue=self.reader.receiver.queue,
            whole=whole,
        )
        self.reader.authenticate(phase)
        self._node.add("authentication", "part", phase.figures)
        return phase

    @property
    def connections(self) -> dict[int, Connection]:
        """Open connections by key of the socket."""
        return self.table.by_key

    @property
    def responses(self) -> Channel[Change]:
        """Response channel."""
        return self.writer.responses

    @property
    def parked(self) -> ParkedTime:
        """Parked time of the reader."""
        return self.reader.parked

    def serve_pending(self) -> bool:
        """See `Reader.serve_pending`."""
        return self.reader.serve_pending()

    # --- as the owner of connections; never waits

    def refuse(
        self, connection: Connection, request: Request, reason: CloseReason, detail: str
    ) -> None:
        """Close the connection of a request that gets no answer."""
        self.writer.post(self.writer.refuse, connection, request, reason, detail)

    def mute(self, connection: Connection, reason: MuteReason) -> None:
        """Mute a connection, after the answers that are queued."""
        self.writer.post(self.writer.mute, connection, reason)

    def unmute(self, connection: Connection, reason: MuteReason) -> None:
        """Unmute a connection, after the answers that are queued."""
        self.writer.post(self.writer.unmute, connection, reason)

    def close(self, connection: Connection, reason: CloseReason) -> None:
        """Close a connection now."""
        self.table.close(connection, reason)

    # --- for shutdown

    def begin_draining(self) -> None:
        """Read no more; close each connection as soon as it has no request in flight."""
        self.new_connections.refusing = True
        for connection in self.table.all():
            connection.muted |= MuteReason.DRAINING
            if not connection.muted & BUSY:
                self.table.close(connection, CloseReason.DRAINED)
        self._ring()

    async def wait_drained(self, *, hurry: bool = False) -> None:
        """Wait until every connection is closed; new ones are closed as the reader takes them.

        hurry: close connections that read too slowly, see `idle_timeout.close_slow_readers`.
        """
        async with trio.open_nursery() as nursery:
            if hurry:
                nursery.start_soon(close_slow_readers, self.table, name=f"{self.name}-drain")
            await self.table.wait_empty()
            nursery.cancel_scope.cancel()

    def _stop(self) -> None:
        for connection in self.table.all():
            self.table.close(connection, CloseReason.STOPPED)
        self.new_connections.close()
        self.reader.close()
        self.writer.close()
        self._selector.close()
        self._node.remove()

    def _ring(self) -> None:
        self.reader.ring()

    def figures(self) -> Figures:
        reader = self.reader
        return {
            "IdlePercent": reader.parked.lately(),
            "connections": len(self.table),
            "accepted": self.table.accepted,
            "served": reader.served,
            "ready": len(reader.receiver.ready),
            "received": len(reader.receiver.received),
            "waiting_for_room": len(reader.waiters),
            "most_waiting_for_room": reader.waiters.most,
            "buffers_kept": self.resources.buffers.kept,
        }
