"""Answers on their way to their sockets.

Those of one round, the reader's or a handler's, go together at its end, those of one connection in
one call: to send wakes the peer, which costs as much as serving a small request, and a peer that is
awake already is not woken again. So the next requests of a connection may be served before a small
answer to an earlier one is sent. A large one, and what a socket does not take, mutes its connection
until it is gone; a large one of a handler's is sent by the writer.
"""

from collections.abc import Callable, Sequence
from typing import Final

from trio_kafka.introspect.channels import Sender
from trio_kafka.introspect.stamps import Times
from trio_kafka.network import connection_events as events
from trio_kafka.network.connection import Connection
from trio_kafka.network.outgoing import FILE_SHARE, Outgoing, Progress, release
from trio_kafka.network.request import Request
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.server import Segments
from trio_kafka.world.protocols import RangeCutError

SMALL: Final = 16 << 10  # bytes of an answer behind which others are made before it is sent
_PIECE: Final = 256 << 10  # bytes of files before another plane is let in


class Sending:
    """Of one processor. close: `Roster.close`; unmute: take a reason away from a connection."""

    def __init__(
        self,
        budget: LoopBudget,
        times: Times,
        responses: Sender[events.Item],
        close: Callable[..., None],
        unmute: Callable[[Connection, int], None],
    ) -> None:
        self._budget = budget
        self._elapsed = budget.elapsed
        self._times = times
        self._known_times = times.known
        self._responses = responses
        self._close = close
        self._unmute = unmute
        self.waiting: list[Connection] = []  # have answers that wait for the end of the round

    def later(self, request: Request, segments: Segments) -> None:
        """Send an answer at the end of the round. Its frame is free now."""
        connection = request.connection
        if connection.closed:
            connection.framer.drop()
            release(segments)
            return
        connection.framer.done()
        if request.stamps.response_bytes > SMALL:
            connection.muted |= events.SENDING
        answers = connection.answers
        if answers:
            answers.append((request, segments))
        else:
            connection.answers = [(request, segments)]
            self.waiting.append(connection)

    def flush(self) -> None:
        """Send what waits. Connections may be ready again by it."""
        waiting, self.waiting = self.waiting, []
        for connection in waiting:
            answers = connection.answers
            if answers is not None and len(answers) == 1:  # nearly always
                connection.answers = None
                request, segments = answers[0]
                self.send(connection, (request,), segments)
            else:
                self.flush_one(connection)

    def flush_one(self, connection: Connection) -> None:
        """Send what waits for one connection."""
        answers = connection.answers
        if not answers:
            return
        connection.answers = None
        requests = [request for request, _ in answers]
        segments: Segments = [segment for _, some in answers for segment in some]
        if all(type(segment) is bytes for segment in segments):
            segments = (b"".join(segments),)
        self.send(connection, requests, segments)

    def send(self, connection: Connection, requests: Sequence[Request], segments: Segments) -> None:
        """Offer the answers to `requests` to the socket, behind those that it has not taken yet."""
        if connection.closed:
            release(segments)
            return
        now = self._elapsed()
        for request in requests:
            request.stamps.sending = now
        taken = 0
        out = connection.out
        if out is not None:
            out.add(requests, segments)
            return
        if len(segments) == 1 and type(segments[0]) is bytes:  # nearly always
            data = segments[0]
            try:
                taken = connection.socket.send(data)
            except BlockingIOError:
                pass
            except OSError as error:
                self._close(connection, events.GONE, str(error))
                return
            if taken == len(data):
                self._sent(requests)
                if connection.muted & events.SENDING:
                    self._unmute(connection, events.SENDING)
                return
        connection.out = Outgoing(requests, segments, taken)
        connection.progress = self._budget.time
        connection.muted |= events.SENDING
        if not taken:
            self.go_on(connection)

    def go_on(self, connection: Connection) -> None:
        """Send what the socket takes now of what it has not taken yet."""
        out = connection.out
        if out is None:
            return
        before = out.taken
        try:
            if not before:
                connection.make_room_to_send(out.left_of_files)
            progress = self._offer(connection, out)
        except RangeCutError as error:
            self._close(connection, events.TRUNCATED, str(error), reset=True)
            return
        except OSError as error:
            self._close(connection, events.GONE, str(error))
            return
        if out.taken > before:
            connection.progress = self._budget.time
        if progress is Progress.DONE:
            connection.out = None
            self._sent(out.requests)
            self._unmute(connection, events.SENDING)
        elif progress is Progress.SHARE_USED and not connection.flushing:
            connection.flushing = True  # an edge may come in between: one item at a time
            self._responses.send_nowait(events.Flush(connection))

    def _offer(self, connection: Connection, out: Outgoing) -> Progress:
        """A turn's share of the answer; where another plane is to be let in, in pieces."""
        if not self._budget.yield_point.bound:
            return out.flush(connection.socket)
        for _ in range(FILE_SHARE // _PIECE):
            progress = out.flush(connection.socket, _PIECE)
            if progress is not Progress.SHARE_USED:
                break
            self._budget.yield_point()
            if connection.closed:
                return Progress.BLOCKED
        return progress

    def done(self, request: Request) -> None:
        """Count a request that ends without an answer."""
        request.stamps.sending = self._elapsed()
        self._sent((request,))

    def _sent(self, requests: Sequence[Request]) -> None:
        now = self._elapsed()
        for request in requests:
            key, stamps = request.code >> 16, request.stamps
            stamps.client_id = request.client_id
            (self._known_times.get(key) or self._times.of(key)).add(stamps, now)
        if self._times.log is not None:
            for request in requests:
                self._times.log(request.stamps)
