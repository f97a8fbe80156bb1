"""The reader of a processor: receives requests, and serves or hands them over.

The reader parks once in the selector. One wake serves every ready connection, and those that become
ready meanwhile, until its share of the loop budget is used up: a pass of the loop costs as much as
a small request. Edges only set flags and fill the ready queue, so none of a batch can name a closed
connection, and a share that ends half way loses no edge. Source: the order of Kafka's Selector and
Processor.
"""

from collections.abc import Callable
from typing import Final, NoReturn

import trio

from trio_kafka.introspect.recent_share import ParkedTime
from trio_kafka.network.authentication.phase import AuthenticationPhase
from trio_kafka.network.channel_waiters import ChannelWaiters
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.handlers import PlaneResources
from trio_kafka.network.new_connections import NewConnections
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.receiving import RequestReceiver
from trio_kafka.network.request import IN_QUEUE, ConnectionOwner, Request
from trio_kafka.network.writer import Writer
from trio_kafka.world.protocols import BROKEN, PEER_DONE, READ, WRITE, Selector

_EDGES_AT_ONCE: Final = 64
_SERVE_PENDING_S: Final = 0.0005  # of another plane's time


class Reader:
    """Reader of one processor.

    asleep: parked in the selector. served: requests so far. parked: how long it has been parked.
    """

    def __init__(
        self,
        resources: PlaneResources,
        selector: Selector,
        table: ConnectionTable,
        writer: Writer,
        new_connections: NewConnections,
    ) -> None:
        self._budget = resources.budget
        self._deferred = resources.budget.deferred
        self._elapsed = resources.budget.elapsed
        self._handlers = resources.handlers
        self._channel = resources.channel
        self._selector = selector
        self._table = table
        self._writer = writer
        writer.on_unmuted = self.receive_from
        self._new = new_connections
        self._owner: ConnectionOwner[Connection]
        self.waiters = ChannelWaiters(resources.channel, self.ring)
        self.receiver = RequestReceiver(
            resources.budget, table, writer.sender, is_over=self._is_over, poll=self._poll
        )
        self._on_new: Callable[[Connection], None] = lambda _: None
        self.asleep = False
        self.served = 0
        self.parked = ParkedTime(self._elapsed)
        self._ends = 0.0  # of the share of the loop budget

    def authenticate(self, phase: AuthenticationPhase) -> None:
        """Let new connections authenticate before they ask."""
        self._on_new = phase.begin
        self.receiver.admit, self.receiver.refuse = phase.admit, phase.refuse

    async def run(self, owner: ConnectionOwner[Connection]) -> NoReturn:
        """Serve until cancelled. owner: of new connections."""
        self._owner = owner
        while True:
            if self._has_work():
                await trio.lowlevel.checkpoint()  # the share was used up
            else:
                self.asleep = True
                self.parked.since = self._elapsed()
                await self._selector.wait()
                self.parked.end()
                self.asleep = False
            self._ends = self._budget.begin_share()
            self._serve()

    def serve_pending(self) -> bool:
        """Serve what has arrived, at a yield point of another plane, if the reader is parked.

        Returns whether anything had arrived.
        """
        if not self.asleep or not (self._table.by_key or self._new.slots.queued):
            return False
        self.asleep = False
        self._ends = self._elapsed() + _SERVE_PENDING_S
        served = self._serve()
        self.asleep = True
        if self._has_work():
            self.ring()
        return served

    def ring(self) -> None:
        """Wake the reader if it is parked. Idempotent until it runs."""
        if self.asleep:
            self.asleep = False
            self._selector.ring()

    def receive_from(self, connection: Connection) -> None:
        """Receive from a connection that was unmuted.

        While the reader is parked, the next request goes to the request channel. Never waits.
        """
        receiver = self.receiver
        if not self.asleep:
            receiver.queue(connection)
            return
        request = receiver.next(connection)
        if request is not None:
            self.served += 1
            self.waiters.hand_over(connection, request)
        if receiver.ready:  # a large frame continues, or others became ready meanwhile
            self.ring()

    def close(self) -> None:
        """Give back what it holds when all connections are closed; it rings no more. Idempotent."""
        self.asleep = False
        self.receiver.drop()
        self.waiters.close()

    def _has_work(self) -> bool:
        receiver = self.receiver
        return bool(
            receiver.ready or receiver.received or self.waiters.has_room or self._new.slots.queued
        )

    def _serve(self) -> bool:
        """Serve until nothing is left or the share is used up; whether there was a request."""
        receiver, elapsed, poll = self.receiver, self._elapsed, self._selector.poll
        new, waiters = self._new.slots, self.waiters
        outer = self._deferred.begin()
        served = over = False
        while not over:  # polling again costs a thirtieth of a pass of the loop
            edges = poll(0, _EDGES_AT_ONCE)
            for key, mask in edges:
                self._note(key, mask)
            if new.queued:
                self._adopt()
            if waiters.has_room:
                waiters.offer_again()
            if receiver.ready or receiver.received:
                served, over = True, self._serve_ready()
            elif edges:
                over = elapsed() >= self._ends
            else:
                break
        self._deferred.end(outer)
        return served

    def _serve_ready(self) -> bool:
        """Serve ready connections, in order; whether the share is used up before all are served."""
        receiver, elapsed, writer = self.receiver, self._elapsed, self._writer
        ready, received = receiver.ready, receiver.received
        now = elapsed()
        while ready or received:
            if not received:
                receiver.receive_some()
                now = elapsed()
            if received:
                connection, request = received.popleft()
                request.stamps.begun = now
                self._pass_on(connection, request)
                now = elapsed()
            over = now >= self._ends
            if over and self._budget.yield_point.bound:
                self._ends = self._budget.next_slice()
                now = elapsed()
                over = now >= self._ends
            if over or not (ready or received):
                writer.flush()
            if over:
                for connection, request in received:  # other tasks run now and may look
                    connection.request, request.waits_for = request, IN_QUEUE
                return True
        return False

    def _pass_on(self, connection: Connection, request: Request) -> None:
        """Serve a request in place of an idle handler, or hand it over."""
        self.served += 1
        if self._channel.idle:
            self._writer.inline = True
            try:
                if self._handlers.perform(request):
                    return
            finally:
                self._writer.inline = False
        self.waiters.hand_over(connection, request)

    def _poll(self) -> None:
        for key, mask in self._selector.poll(0, _EDGES_AT_ONCE):
            self._note(key, mask)

    def _note(self, key: int, mask: int) -> None:
        """Note an edge of a socket."""
        connection = self._table.by_key.get(key)
        if connection is None:
            return  # woken by `ring`
        if mask & (PEER_DONE | BROKEN):
            if mask & BROKEN:
                self._table.close(connection, CloseReason.GONE, "reset")
                return
            connection.left = connection.readable = True  # requests sent before still count
            if connection.parked is not None:
                connection.parked()
        if mask & READ:
            connection.readable = True
        if mask & WRITE and connection.out is not None:
            self._writer.sender.resume(connection)
        if connection.readable and not (connection.muted or connection.closed):
            self.receiver.queue(connection)

    def _adopt(self) -> None:
        """Take new connections; at least one."""
        while self._new.slots.queued:
            connection = self._new.take_nowait(self._owner)
            if connection is None:
                continue
            self._on_new(connection)
            self._table.add(connection)
            self.receiver.queue(connection)
            if self._elapsed() >= self._ends:
                return

    def _is_over(self) -> bool:
        return self._elapsed() >= self._ends
