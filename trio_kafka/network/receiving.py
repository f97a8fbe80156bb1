"""Receiving: bytes of sockets become frames, and frames requests in flight."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ProtocolError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.metered import MemoryFullError
from trio_kafka.network.reasons import IN_FLIGHT, CloseReason, MuteReason
from trio_kafka.network.request import Request
from trio_kafka.network.sending import AnswerSender
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.frame import SMALL, Frame
from trio_kafka.wire.server import HEAD

_AT_ONCE: Final = 16


@define(eq=False)
class RequestReceiver:
    """Receives the requests of one processor.

    ready: connections to receive from next.
    received: requests that are not served yet, with their connections.
    is_over: whether the running share of the loop budget is used up.
    poll: notes edges of all sockets.
    admit: whether a frame of a connection with an authenticator is a request.
    refuse: fails the login of a connection that sends a frame of a wrong size, if it logs in.
    """

    _budget: LoopBudget
    _table: ConnectionTable
    _sender: AnswerSender
    _is_over: Callable[[], bool] = field(kw_only=True)
    _poll: Callable[[], None] = field(kw_only=True)
    admit: Callable[[Connection, Frame], bool] = field(kw_only=True, default=lambda *_: True)
    refuse: Callable[[Connection, str], bool] = field(kw_only=True, default=lambda *_: False)
    ready: deque[Connection] = field(factory=deque, init=False)
    received: deque[tuple[Connection, Request]] = field(factory=deque, init=False)

    def queue(self, connection: Connection) -> None:
        """Have a connection received from, once."""
        if not connection.queued:
            connection.queued = True
            self.ready.append(connection)

    def receive_some(self) -> None:
        """Receive up to 16 requests before the first of them is served.

        Receiving and serving one by one costs a tenth more: each evicts the other from the caches.
        """
        ready, next_of = self.ready, self.next
        for _ in range(min(len(ready), _AT_ONCE)):
            connection = ready.popleft()
            connection.queued = False
            request = next_of(connection)
            if request is not None:
                self.received.append((connection, request))
                if request.stamps.request_bytes > SMALL:
                    return
            elif self._is_over():
                return

    def next(self, connection: Connection) -> Request | None:
        """Return the next request of a connection, in flight from now on; None: not yet."""
        if connection.muted or connection.closed:
            return None
        framer = connection.framer
        frame = None
        try:
            if framer.buffer is not None:
                frame = framer.next()
            while frame is None and connection.readable:
                room = framer.room()
                n = connection.socket.receive_into(room)
                if not n:
                    detail = "within a frame" if framer.pending else ""
                    self._sender.end(connection, CloseReason.LEFT, detail)
                    return None
                frame = framer.received(n)
                connection.progress = self._budget.time
                more = connection.socket.more
                # After PEER_DONE no edge follows: read until 0. Nor for what TLS has left.
                connection.readable = n == len(room) or connection.left or more
                if frame is None and (n >= SMALL or more) and not self._continue(connection):
                    return None
        except BlockingIOError:
            connection.readable = False
        except MemoryFullError as full:
            connection.muted |= MuteReason.MEMORY
            full.wait(partial(connection.unmute, MuteReason.MEMORY))
        except ProtocolError as error:
            if connection.authenticator is None or not self.refuse(connection, str(error)):
                self._sender.end(connection, CloseReason.BAD_FRAME, str(error))
        except OSError as error:
            self._table.close(connection, CloseReason.GONE, str(error))
        if frame is None:
            framer.rest()
            return None
        if connection.authenticator is not None and not self.admit(connection, frame):
            return None
        connection.muted = IN_FLIGHT
        connection.requests += 1
        now = self._budget.elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(
            received=now,
            begun=now,
            code=code,
            correlation=correlation,
            request_bytes=len(frame),
            origin=connection.origin,
        )
        return Request(frame, code, correlation, length, connection, stamps)

    def drop(self) -> None:
        """Give back the frames of requests that are not served."""
        while self.received:
            connection, _ = self.received.popleft()
            connection.framer.drop()

    def _continue(self, connection: Connection) -> bool:
        """Return whether the next bytes of a large frame are to be received now.

        They have nearly always arrived meanwhile. Polling here costs half of a round through the
        ready queue.
        """
        connection.make_room_to_receive(connection.framer.missing)
        connection.readable |= connection.socket.more
        connection.queued = True  # a new edge must not queue it
        if self._is_over():
            connection.readable = True
            self.ready.append(connection)
            return False
        if not (connection.readable or self.received or self._sender.waiting):
            self._poll()
        connection.queued = False
        return not connection.closed
