"""Requests on their way from their sockets: bytes become frames, and frames requests in hand.

What keeps a connection from its next request is told on the way: nothing more to read now, no
memory for the frame, a peer that has left, a frame that is none.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from trio_kafka.errors import ProtocolError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.network import connection_events as events
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import Request
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.frame import SMALL
from trio_kafka.wire.metered import MemoryFullError
from trio_kafka.wire.server import HEAD

_AT_ONCE: Final = 16


class Receiving:
    """Of one processor. ready: those that it serves next; is_over: the part of the turn that it
    has; look: note what has come to any socket, unless somebody waits for an answer; close:
    `Roster.close`; end: the same, when what was asked before is answered.
    """

    def __init__(
        self,
        budget: LoopBudget,
        ready: deque[Connection],
        is_over: Callable[[], bool],
        look: Callable[[], None],
        *,
        close: Callable[..., None],
        end: Callable[[Connection, str, str], None],
    ) -> None:
        self._budget = budget
        self._elapsed = budget.elapsed
        self._ready = ready
        self._is_over = is_over
        self._look = look
        self._close = close
        self._end = end
        self.received: deque[Request] = deque()  # in hand, and nobody serves them yet

    def some(self) -> None:
        """Have some requests in hand, `received`, before the first of them is served: to receive
        and to serve in turn costs a tenth more, as each turns the other out of the caches.
        """
        ready, next_of = self._ready, self.next
        for _ in range(min(len(ready), _AT_ONCE)):
            connection = ready.popleft()
            connection.queued = False
            request = next_of(connection)
            if request is not None:
                self.received.append(request)
                if request.stamps.request_bytes > SMALL:
                    return
            elif self._is_over():
                return

    def next(self, connection: Connection) -> Request | None:
        """Its next request, which is in hand from now on; None when there is none yet."""
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
                    self._end(
                        connection,
                        events.LEFT,
                        "within a frame" if framer.pending else "",
                    )
                    return None
                frame = framer.received(n)
                connection.progress = self._budget.time
                # After PEER_DONE no edge comes: read until 0.
                connection.readable = n == len(room) or connection.left
                if n >= SMALL and frame is None and not self._goes_on(connection):
                    return None
        except BlockingIOError:
            connection.readable = False
        except MemoryFullError as full:
            connection.muted |= events.MEMORY
            full.wait(partial(connection.processor.post, events.MemoryGiven(connection)))
        except ProtocolError as error:
            self._end(connection, events.BAD_FRAME, str(error))
        except OSError as error:
            self._close(connection, events.GONE, str(error))
        if frame is None:
            framer.rest()
            return None
        connection.muted = events.IN_HAND
        connection.requests += 1
        now = self._elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(now, now, code, correlation, len(frame), connection.origin)
        return Request(frame, code, correlation, length, connection, stamps)

    def _goes_on(self, connection: Connection) -> bool:
        """Whether the next bytes of a large frame are to be received now.

        They nearly always have come while these were received: to find that out here costs half of
        a round through all that is ready.
        """
        connection.make_room_to_receive(connection.framer.missing)
        connection.queued = True  # what comes is for whoever receives here
        if self._is_over():
            connection.readable = True
            self._ready.append(connection)  # others first
            return False
        if not connection.readable and not self.received:
            self._look()
        connection.queued = False
        return not connection.closed
