"""A processor: a reader and a writer over one edge-triggered selector; its connections are objects.

The reader parks once in the selector, and serves every ready connection in one wake, and those that
become ready meanwhile, as long as its turn lasts: a pass of the loop costs as much as a request.
Edges only set flags and fill the ready list, so none of a batch can name a closed connection, and a
turn that ends half way loses no edge. One request of a connection is in hand at a time; answers of
a round go to their sockets at its end (`sending`). Neither reader nor writer ever
stops for a full request channel: a connection whose request found it full waits, muted, until the
channel calls. Source: the order of Kafka's Selector and Processor.
"""

from collections import deque
from typing import Final, NoReturn

import trio

from trio_kafka.introspect.channels import UNBOUNDED, Receiver, Sender, open_channel
from trio_kafka.introspect.share import Parked
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network import connection_events as events
from trio_kafka.network.channel_waiters import WaitingRoom
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import Roster
from trio_kafka.network.handlers import Shared
from trio_kafka.network.idle_timeout import close_idle, close_slow_readers
from trio_kafka.network.new_connections import Arrivals
from trio_kafka.network.outgoing import release
from trio_kafka.network.receiving import Receiving
from trio_kafka.network.request import IN_QUEUE, Request
from trio_kafka.network.sending import SMALL, Sending
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.wire.frame import Largest
from trio_kafka.wire.metered import framers
from trio_kafka.wire.server import Segments
from trio_kafka.world.protocols import BROKEN, PEER_DONE, READ, WRITE

_EDGES_A_TURN: Final = 64
_SERVE_PENDING_S: Final = 0.0005  # of another plane's time


class Processor:
    """Owns the sockets that an acceptor gave it, until cancelled."""

    def __init__(self, name: str, shared: Shared, listener: ListenerSettings, node: Node) -> None:
        self.name = name
        self.listener = listener
        self._shared = shared
        self._requests, self._completions = shared.channel.counts, shared.channel.completions
        self._handlers = shared.handlers
        self._budget = shared.budget
        self._deferred = shared.budget.deferred
        self._elapsed = shared.budget.elapsed
        self._selector = shared.world.network.selector()
        self._node = node.add(name, "selector", self.figures)
        self.roster = Roster(self._selector, shared.counters, listener.name, self._node)
        self.connections = self.roster.by_key
        self._close = self.roster.close
        largest = Largest(
            whole=listener.largest_frame,
            common=listener.largest_common_frame,
            declared=shared.handlers.largest_request,
        )
        framer = framers(shared.memory, shared.buffers, largest)
        self.arrivals = Arrivals(listener.new_connections, self._node, framer, self._ring)
        # Bounded by muting: one answer a connection, and a few signs.
        self._responses: Sender[events.Item]
        self._take: Receiver[events.Item]
        self._responses, self._take = open_channel(UNBOUNDED, self._node, "responses", self._age_s)
        self.responding = self._responding = self._responses.counts
        self._ready: deque[Connection] = deque()
        receiving = Receiving(
            shared.budget,
            self._ready,
            self._is_over,
            self._look,
            close=self._close,
            end=self._end,
        )
        self._next, self._receive = receiving.next, receiving.some
        self._received = receiving.received
        self._waiting = WaitingRoom(shared.channel, self._ring)
        self._sending = Sending(
            shared.budget, shared.times, self._responses, self._close, self._unmute
        )
        self._asleep = self._inline = False
        self._ends = 0.0  # of the part of the turn that whichever task runs has
        self._served = 0
        self.parked = Parked(self._elapsed)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled, then close every connection; started when it can take some."""
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read, name=f"{self.name}-reader")
                nursery.start_soon(self._write, name=f"{self.name}-writer")
                if self.listener.idle_s < float("inf"):
                    nursery.start_soon(close_idle, self, name=f"{self.name}-idle")
                task_status.started()
        finally:
            self._stop()

    # --- for requests; never waits

    def answer(self, request: Request, segments: Segments | None) -> None:
        """Send an answer: the reader's own, and small ones of others, at the end of the round if no
        other waits for the writer; else by the writer.
        """
        stamps = request.stamps
        stamps.answered = now = self._elapsed()
        if not stamps.handled:
            stamps.handled = now
        connection = request.connection
        if self._responding.queued or not (self._inline or self._put_off(stamps, segments)):
            if segments is None:
                self._responses.send_nowait(events.NoOp(connection, request))
            else:
                self._responses.send_nowait(events.Send(connection, request, segments))
        elif segments is None:
            self._finish(connection, request)
        else:
            self._sending.later(request, segments)
            self._unmute(connection, events.IN_HAND)

    def _put_off(self, stamps: Stamps, segments: Segments | None) -> bool:
        """Have an answer of another one's round sent at its end, where it is a small one."""
        deferred, sending = self._deferred, self._sending
        if deferred.calls is None or segments is None or stamps.response_bytes > SMALL:
            return False
        if not sending.waiting:
            deferred.defer(sending.flush)
        return True

    def refuse(self, request: Request, reason: str, detail: str) -> None:
        """Close the connection of a request that gets no answer."""
        self.post(events.Close(request.connection, reason, detail, request))

    def post(self, item: events.Item) -> None:
        """Whatever changes a connection is an item of the response channel, in order with its
        answers.
        """
        if self._inline and not self._responding.queued:
            self._apply(item)
        else:
            self._responses.send_nowait(item)

    # --- for shutdown

    def begin_draining(self) -> None:
        """Read no more; close each connection as soon as nothing of it is in hand."""
        self.arrivals.refuses = True
        for connection in list(self.connections.values()):
            connection.muted |= events.DRAINING
            if not connection.muted & events.BUSY:
                self._close(connection, events.DRAINED)
        self._ring()

    async def wait_drained(self, *, hurry: bool = False) -> None:
        """Until every connection has ended; new ones that wait end as the reader comes to them.

        hurry: close connections that read too slowly: see `idle.close_slow_readers`.
        """
        async with trio.open_nursery() as nursery:
            if hurry:
                nursery.start_soon(close_slow_readers, self, name=f"{self.name}-drain")
            await self.roster.wait_empty()
            nursery.cancel_scope.cancel()

    # --- the reader

    async def _read(self) -> NoReturn:
        selector, ready, budget, parked = self._selector, self._ready, self._budget, self.parked
        arrived, waiting, received = self.arrivals.counts, self._waiting, self._received
        while True:
            if ready or received or waiting.room or arrived.queued:
                await trio.lowlevel.checkpoint()  # the turn was over
            else:
                self._asleep = True
                parked.begin()
                await selector.wait()
                parked.end()
                self._asleep = False
            self._ends = budget.begin_share()
            self._take_turn()

    def _take_turn(self) -> bool:
        """Serve what has come, until nothing has or the turn is over; whether anything had."""
        ready, received, elapsed = self._ready, self._received, self._elapsed
        sending = self._sending
        poll, arrived, waiting = self._selector.poll, self.arrivals.counts, self._waiting
        outer = self._deferred.begin()
        came = over = False
        while not over:  # to look again costs a thirtieth of what a pass of the loop does
            edges = poll(0, _EDGES_A_TURN)
            for key, mask in edges:
                self._note(key, mask)
            if arrived.queued:
                self._adopt()
            if waiting.room:
                waiting.offer_again()
            if ready or received:
                came, over = True, self._serve_ready()
            elif edges:
                over = elapsed() >= self._ends
            else:
                break
        self._deferred.end(outer)
        return came

    def serve_pending(self) -> bool:
        """Serve what has arrived, at a yield point of another plane, if the reader is parked.

        Returns whether anything had arrived.
        """
        if not self._asleep or not (self.connections or self.arrivals.counts.queued):
            return False
        self._asleep = False
        self._ends = self._elapsed() + _SERVE_PENDING_S
        came = self._take_turn()
        self._asleep = True
        if self._ready or self._received or self._waiting.room or self.arrivals.counts.queued:
            self._ring()
        return came

    def _serve_ready(self) -> bool:
        """Serve those that are ready, in turn; whether the turn is over before all are served."""
        ready, received, sending = self._ready, self._received, self._sending
        elapsed, deferred = self._elapsed, self._deferred
        now = elapsed()
        while ready or received:
            if not received:
                self._receive()
                now = elapsed()
            if received:
                request = received.popleft()
                request.stamps.begun = now
                self._pass_on(request.connection, request)
                now = elapsed()
            over = now >= self._ends
            if over and self._budget.yield_point.bound:
                self._ends = self._budget.next_slice()
                now = elapsed()
                over = now >= self._ends
            if over or not (ready or received):
                if deferred.calls:
                    self._settle()
                deferred.number += (
                    1  # whoever is answered now and asks again does so in the next one
                )
                if sending.waiting:
                    sending.flush()
            if over:
                for request in received:  # others run now, and may look
                    request.connection.request, request.waits_for = request, IN_QUEUE
                return True
        return False

    def _settle(self) -> None:
        """Answer what was put off, before anything is sent."""
        self._inline = True
        try:
            self._deferred.flush()
        finally:
            self._inline = False

    def _look(self) -> None:
        """Note what has come while a large frame was received, unless an answer is to go first."""
        if not self._sending.waiting:
            for key, mask in self._selector.poll(0, _EDGES_A_TURN):
                self._note(key, mask)

    def _note(self, key: int, mask: int) -> None:
        connection = self.connections.get(key)
        if connection is None:
            return  # the bell
        if mask & (PEER_DONE | BROKEN):
            if mask & BROKEN:
                self._close(connection, events.GONE, "reset")
                return
            connection.left = connection.readable = True  # what it sent before it left still counts
            if connection.parked is not None:
                connection.parked()
        if mask & READ:
            connection.readable = True
        if mask & WRITE and connection.out is not None:
            self._sending.go_on(connection)
        if connection.readable and not (connection.muted or connection.queued or connection.closed):
            connection.queued = True
            self._ready.append(connection)

    def _adopt(self) -> None:
        """Configure new connections; at least one."""
        while self.arrivals.counts.queued:
            connection = self.arrivals.adopt(self)
            if connection is None:
                continue
            self.roster.add(connection)
            connection.queued = True
            self._ready.append(connection)
            if self._elapsed() >= self._ends:
                return

    def _is_over(self) -> bool:
        return self._elapsed() >= self._ends

    def _pass_on(self, connection: Connection, request: Request) -> None:
        """Serve it in the stead of an idle handler, or hand it over."""
        self._served += 1
        waiting, completions = self._requests, self._completions
        if waiting.idle and not waiting.queued and not completions:  # the channel is idle
            self._inline = True
            try:
                if self._handlers.perform(request):
                    return
            finally:
                self._inline = False
        self._waiting.hand_over(connection, request)

    # --- the writer

    async def _write(self) -> NoReturn:
        take_nowait, take = self._take.receive_nowait, self._take.receive
        budget, elapsed, responding = self._budget, self._elapsed, self._responding
        while True:
            if responding.queued:
                item = take_nowait()
            else:
                item = await take()
                self._ends = budget.begin_share()
            self._apply(item)
            if elapsed() >= self._ends:
                await trio.lowlevel.checkpoint()
                self._ends = budget.begin_share()

    def _apply(self, item: events.Item) -> None:
        connection, kind = item.connection, type(item)
        if isinstance(item, events.Send):
            self._send(connection, item.request, item.segments)
        elif isinstance(item, events.NoOp):
            self._finish(connection, item.request)
        elif isinstance(item, events.Close):
            if item.request is not None:
                connection.muted &= ~events.IN_HAND  # nobody reads its frame any more
                if connection.closed:
                    connection.framer.drop()
            self._end(connection, item.reason, item.detail)
        elif kind is events.Flush:
            connection.flushing = False
            self._sending.go_on(connection)
        elif kind is events.StartThrottle:
            connection.muted |= events.THROTTLED
        else:
            over = events.MEMORY if kind is events.MemoryGiven else events.THROTTLED
            self._unmute(connection, over)

    def _send(self, connection: Connection, request: Request, segments: Segments) -> None:
        if connection.closed:
            connection.framer.drop()
            release(segments)
            return
        connection.framer.done()
        self._sending.send(connection, (request,), segments)
        self._unmute(connection, events.IN_HAND)

    def _finish(self, connection: Connection, request: Request) -> None:
        """The request is done, without an answer."""
        if connection.closed:
            connection.framer.drop()
        else:
            connection.framer.done()
            self._sending.done(request)
            self._unmute(connection, events.IN_HAND)

    def _unmute(self, connection: Connection, reason: int) -> None:
        connection.muted &= ~reason
        if connection.ending is not None and reason == events.SENDING:
            self._close(connection, *connection.ending)
            return
        if connection.muted:
            if connection.muted & events.DRAINING and not connection.muted & events.BUSY:
                self._end(connection, events.DRAINED)
            return
        if connection.closed or connection.queued:
            return
        if not (connection.readable or connection.framer.buffer is not None):
            return
        if self._asleep:  # the writer offers the next frame itself, and never waits
            request = self._next(connection)
            if request is not None:
                self._served += 1
                self._waiting.hand_over(connection, request)
            if self._ready:
                self._ring()  # a large frame goes on, or others came while it was received
            return
        connection.queued = True
        self._ready.append(connection)

    # --- the end

    def _end(self, connection: Connection, reason: str, detail: str = "") -> None:
        """Close a connection as soon as its socket has taken the answers to what it has asked."""
        self._sending.flush_one(connection)
        if connection.out is None:
            self._close(connection, reason, detail)
        else:
            connection.ending = reason, detail

    def _stop(self) -> None:
        for connection in list(self.connections.values()):
            self._close(connection, events.STOPPED)
        self.arrivals.close()
        while self._received:
            self._received.popleft().connection.framer.drop()
        while self._responding.queued:
            self._apply(self._take.receive_nowait())  # leases and buffers
        self._selector.close()
        self._node.remove()

    def _ring(self) -> None:
        if self._asleep:
            self._asleep = False
            self._selector.ring()

    def _age_s(self, item: events.Item) -> float | None:
        answered = events.answered_at(item)
        return None if answered is None else self._elapsed() - answered

    def figures(self) -> Figures:
        return {
            "IdlePercent": self.parked.lately(),
            "connections": len(self.connections),
            "accepted": self.roster.accepted,
            "served": self._served,
            "ready": len(self._ready),
            "received": len(self._received),
            "waiting_for_room": len(self._waiting),
            "most_waiting_for_room": self._waiting.most,
            "buffers_kept": self._shared.buffers.kept,
        }
