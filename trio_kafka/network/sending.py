"""Sending: answers on their way to their sockets.

Answers of one round go out together at its end, those of one connection in one call. Sending wakes
the peer, which costs as much as serving a small request; a peer that is awake is not woken again.
So the next requests of a connection may be served before a small answer to an earlier one is sent.
A large answer mutes its connection until it is sent, and so does what a socket does not take.
"""

from collections.abc import Callable, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.network.connection import Connection
from trio_kafka.network.connection_table import ConnectionTable
from trio_kafka.network.outgoing import FILE_SHARE, Outgoing, Progress, release
from trio_kafka.network.reasons import SENDING, CloseReason, MuteReason
from trio_kafka.network.request import Request
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.wire.server import Segments
from trio_kafka.wire.streamed import BodyChangedError
from trio_kafka.world.protocols import RangeCutError

SMALL: Final = 16 << 10  # bytes of an answer that leaves its connection unmuted until it is sent
_PIECE: Final = 256 << 10  # bytes of files between two yield points


@define(eq=False)
class AnswerSender:
    """Sends the answers of one processor.

    waiting: connections with answers for the end of the round.
    unmute: removes a mute reason. continue_later: has the writer resume an answer.
    read_cold: has the next bytes of an answer read from the disk, and the answer resumed.
    """

    _budget: LoopBudget
    _metrics: RequestMetrics
    _table: ConnectionTable
    _unmute: Callable[[Connection, MuteReason], None] = field(kw_only=True)
    _continue_later: Callable[[Connection], None] = field(kw_only=True)
    _read_cold: Callable[[Connection], None] = field(kw_only=True)
    waiting: list[Connection] = field(factory=list, init=False)

    def send_later(self, connection: Connection, request: Request, segments: Segments) -> None:
        """Send an answer at the end of the round. The frame of its request is free now."""
        if connection.closed:
            connection.framer.drop()
            release(segments)
            return
        connection.framer.done()
        if request.stamps.response_bytes > SMALL:
            connection.muted |= SENDING
        answers = connection.answers
        if answers:
            answers.append((request, segments))
        else:
            connection.answers = [(request, segments)]
            self.waiting.append(connection)

    def flush(self) -> None:
        """Send what waits for the end of the round. May unmute connections."""
        waiting, self.waiting = self.waiting, []
        for connection in waiting:
            self._flush_one(connection)

    def _flush_one(self, connection: Connection) -> None:
        answers = connection.answers
        if not answers:
            return
        connection.answers = None
        first, segments = answers[0]
        requests: Sequence[Request] = (first,)
        if len(answers) > 1:
            requests = [request for request, _ in answers]
            segments = [segment for _, some in answers for segment in some]
        if len(segments) > 1 and all(type(segment) is bytes for segment in segments):
            segments = (b"".join(segments),)
        self.send(connection, requests, segments)

    def send(self, connection: Connection, requests: Sequence[Request], segments: Segments) -> None:
        """Send the answers to `requests` now, or behind those that the socket has not taken."""
        if connection.closed:
            release(segments)
            return
        now = self._budget.elapsed()
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
                self._table.close(connection, CloseReason.GONE, str(error))
                return
            if taken == len(data):
                connection.progress = self._budget.time  # a client counts its idle time from here
                self._count(requests)
                if connection.muted & SENDING:
                    self._unmute(connection, SENDING)
                return
        connection.out = Outgoing(requests, segments, taken)
        connection.progress = self._budget.time
        connection.muted |= SENDING
        if not taken:
            self.resume(connection)

    def send_now(self, connection: Connection, data: bytes) -> None:
        """Send bytes that answer no request in flight, behind the answers so far."""
        self._flush_one(connection)
        self.send(connection, (), (data,))

    def resume(self, connection: Connection) -> None:
        """Offer the rest of an answer to the socket."""
        out = connection.out
        if out is None:
            return
        before = out.taken
        try:
            if not before:
                connection.make_room_to_send(out.unsent_file_bytes)
            progress = self._offer(connection, out)
        except (RangeCutError, BodyChangedError, OSError) as error:
            self.fail(connection, error)
            return
        if out.taken > before:
            connection.progress = self._budget.time
        if progress is Progress.DONE:
            connection.out = None
            self._count(out.requests)
            self._unmute(connection, SENDING)
        elif progress is not Progress.BLOCKED and not connection.flushing:
            connection.flushing = True
            if progress is Progress.COLD:
                self._read_cold(connection)
            else:
                self._continue_later(connection)

    def go_on(self, connection: Connection) -> None:
        """Resume an answer that `flushing` says is to be resumed."""
        connection.flushing = False
        self.resume(connection)

    def fail(self, connection: Connection, error: Exception) -> None:
        """Close a connection whose answer cannot be sent."""
        if isinstance(error, OSError):
            self._table.close(connection, CloseReason.GONE, str(error))
        else:
            self._table.close(connection, CloseReason.TRUNCATED, str(error), reset=True)

    def _offer(self, connection: Connection, out: Outgoing) -> Progress:
        """Flush a share of the answer; in pieces where a yield point is bound."""
        yield_point = self._budget.yield_point
        if not yield_point.bound:
            return out.flush(connection.socket)
        for _ in range(FILE_SHARE // _PIECE):
            progress = out.flush(connection.socket, _PIECE)
            if progress is not Progress.SHARE_USED:
                break
            yield_point()
            if connection.closed:
                return Progress.BLOCKED
        return progress

    def end(self, connection: Connection, reason: CloseReason, detail: str = "") -> None:
        """Close a connection as soon as its socket has taken the answers so far."""
        self._flush_one(connection)
        if connection.out is None:
            self._table.close(connection, reason, detail)
        else:
            connection.ending = reason, detail

    def finish(self, request: Request) -> None:
        """Count a request that ends without an answer."""
        request.stamps.sending = self._budget.elapsed()
        self._count((request,))

    def _count(self, requests: Sequence[Request]) -> None:
        now = self._budget.elapsed()
        for request in requests:
            key, stamps = request.code >> 16, request.stamps
            stamps.client_id = request.client_id
            (self._metrics.by_key.get(key) or self._metrics.of(key)).add(stamps, now)
        if self._metrics.log is not None:
            for request in requests:
                self._metrics.log(request.stamps)
