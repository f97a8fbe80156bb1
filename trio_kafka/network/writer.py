"""The writer of a processor: applies answers and other changes to connections, in order.

Small answers that the reader, or a handler within a round, makes are sent at the end of the round
without the writer task, unless older events wait for it.

A request may be answered after its processor has stopped, as a handler still had it. Its connection
is closed by then; the answer is applied at once, which gives back its frame and its leases.
"""

from collections.abc import Callable
from typing import NoReturn

import trio

from trio_kafka.introspect.channels import UNBOUNDED, Channel
from trio_kafka.introspect.tree import Node
from trio_kafka.network.cold_reads import ColdReads
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.outgoing import release
from trio_kafka.network.reasons import BUSY, IN_FLIGHT, SENDING, CloseReason, MuteReason
from trio_kafka.network.request import Request
from trio_kafka.network.sending import SMALL, AnswerSender
from trio_kafka.wire.server import Segments

Change = tuple[Callable[..., None], tuple[object, ...], float]
"""Call that changes a connection, its arguments, and when it was queued."""


class Writer:
    """Writer of one processor.

    responses: changes of connections, bounded by muting: one answer a connection, and a few others.
    cold_reads: of sockets that read files in the loop.
    inline: the reader serves a request now, so its answer waits for the end of the round.
    on_unmuted: set by the reader; called when a connection can be received from.
    """

    on_unmuted: Callable[[Connection], None]

    def __init__(self, resources: PlaneResources, table: ConnectionTable, node: Node) -> None:
        self._budget = resources.budget
        self._elapsed = resources.budget.elapsed
        self._deferred = resources.budget.deferred
        self._close = table.close
        self.responses: Channel[Change] = Channel(
            UNBOUNDED, node, "responses", age_s=lambda change: self._elapsed() - change[2]
        )
        self.sender = AnswerSender(
            resources.budget,
            resources.request_metrics,
            table,
            unmute=self.unmute,
            continue_later=lambda connection: self._queue(self.sender.go_on, connection),
            read_cold=self._read_cold,
        )
        self.cold_reads = ColdReads(
            node,
            resume=lambda connection: self._queue(self.sender.go_on, connection),
            fail=self.sender.fail,
        )
        self.inline = False
        self._is_closed = False

    def answer(self, connection: Connection, request: Request, segments: Segments | None) -> None:
        """Send an answer at the end of the round or, if it must wait, by the writer task."""
        stamps = request.stamps
        stamps.answered = now = self._elapsed()
        if not stamps.handled:
            stamps.handled = now
        if self.responses.queued or not (self.inline or self._joins_round(request, segments)):
            if segments is None:
                self._queue(self._finish, connection, request)
            else:
                self._queue(self._send, connection, request, segments)
        elif segments is None:
            self._finish(connection, request)
        else:
            self.sender.send_later(connection, request, segments)
            self.unmute(connection, IN_FLIGHT)

    def _joins_round(self, request: Request, segments: Segments | None) -> bool:
        """Return whether an answer is sent at the end of the round of another task."""
        deferred, sender = self._deferred, self.sender
        if deferred.calls is None or segments is None or request.stamps.response_bytes > SMALL:
            return False
        if not sender.waiting:
            deferred.defer(sender.flush)
        return True

    def post(self, change: Callable[..., None], *arguments: object) -> None:
        """Change a connection by `change(*arguments)`, in order with its answers."""
        if self.inline and not self.responses.queued:
            change(*arguments)
        else:
            self._queue(change, *arguments)

    async def run(self) -> NoReturn:
        """Apply changes until cancelled."""
        budget, elapsed, responses = self._budget, self._elapsed, self.responses
        ends = 0.0
        while True:
            if responses.queued:
                change, arguments, _ = responses.receive_nowait()
            else:
                change, arguments, _ = await responses.receive()
                ends = budget.begin_share()
            change(*arguments)
            if elapsed() >= ends:
                await trio.lowlevel.checkpoint()
                ends = budget.begin_share()

    def close(self) -> None:
        """Apply all queued changes when all connections are closed, and later ones at once.

        They hold leases and frames.
        """
        self._is_closed = True
        while self.responses.queued:
            change, arguments, _ = self.responses.receive_nowait()
            change(*arguments)

    def flush(self) -> None:
        """End a round: make the deferred calls, then send the answers that wait."""
        if self._deferred.calls:
            self.inline = True
            try:
                self._deferred.flush()
            finally:
                self.inline = False
        # A client that is answered now asks again in the next round.
        self._deferred.number += 1
        if self.sender.waiting:
            self.sender.flush()

    def unmute(self, connection: Connection, reason: MuteReason) -> None:
        """Remove a mute reason; receive from the connection, or end it, if that was the last."""
        connection.muted &= ~reason
        if connection.ending is not None and reason == SENDING:
            self._close(connection, *connection.ending)
            return
        if connection.muted:
            if connection.muted & MuteReason.DRAINING and not connection.muted & BUSY:
                self.sender.end(connection, CloseReason.DRAINED)
            return
        if connection.closed or connection.queued:
            return
        if connection.readable or connection.framer.buffer is not None:
            self.on_unmuted(connection)

    @staticmethod
    def mute(connection: Connection, reason: MuteReason) -> None:
        """Add a mute reason."""
        connection.muted |= reason

    def refuse(
        self, connection: Connection, request: Request, reason: CloseReason, detail: str
    ) -> None:
        """Close the connection of a request that gets no answer."""
        del request
        connection.muted &= ~IN_FLIGHT
        if connection.closed:
            connection.framer.drop()
        self.sender.end(connection, reason, detail)

    def _queue(self, change: Callable[..., None], *arguments: object) -> None:
        if self._is_closed:
            change(*arguments)
        else:
            self.responses.send_nowait((change, arguments, self._elapsed()))

    def _read_cold(self, connection: Connection) -> None:
        self.cold_reads.add(connection)

    def _send(self, connection: Connection, request: Request, segments: Segments) -> None:
        if connection.closed:
            connection.framer.drop()
            release(segments)
            return
        connection.framer.done()
        self.sender.send(connection, (request,), segments)
        self.unmute(connection, IN_FLIGHT)

    def _finish(self, connection: Connection, request: Request) -> None:
        """End a request that has no answer."""
        if connection.closed:
            connection.framer.drop()
        else:
            connection.framer.done()
            self.sender.finish(request)
            self.unmute(connection, IN_FLIGHT)
