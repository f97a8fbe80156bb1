"""One connection to a broker: requests in flight together, responses in their order.

Theory of operation. `send` gives a request to the socket at once, in the task that calls it, if the
socket takes it: most requests need no task of their own. What the socket does not take is sent by
the writer. The reader receives responses and ends their calls. A response that is late, an end of
the stream and bytes that are no response end the connection with all calls on it; each call knows
whether a byte of it was given to the socket. A broker that does not answer is noticed by the
deadline of the scope in which both tasks run: it is the earliest of the calls in flight, or the end
of the time for which a connection may be idle.
"""

from collections import deque
from collections.abc import Awaitable, Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import Place
from trio_kafka.clients.links.calls import Call, call_error
from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.errors import KafkaError, ProtocolError, leaves
from trio_kafka.peers.link import send_all
from trio_kafka.peers.session import Session
from trio_kafka.protocol.errors import EncodeError
from trio_kafka.world.protocols import Socket

_BROKEN = (OSError, ProtocolError, trio.ClosedResourceError)


class LateResponseError(TimeoutError):
    """No response within `request.timeout.ms`."""


@define(eq=False, kw_only=True)
class Connection:
    """A connection, and the calls on it. `run` owns the socket and ends all calls.

    node: the broker's id, in metrics. limit: of the requests in flight.
    idle_s: time without a request after which it ends.
    changed: called after each response, and when requests may be sent again.
    run_in_thread: makes long computations of the handshake.
    """

    socket: Socket
    session: Session
    place: Place
    metrics: NetworkMetrics
    node: int
    limit: int
    idle_s: float
    changed: Callable[[], None]
    run_in_thread: Callable[[Callable[[], object]], Awaitable[object]]
    is_open: bool = field(default=False, init=False)
    _in_flight: deque[Call] = field(factory=deque, init=False)
    _output: deque[tuple[Call, memoryview]] = field(factory=deque, init=False)
    _blocked: trio.Event = field(factory=trio.Event, init=False)
    _scope: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _failure: OSError | None = field(default=None, init=False)

    async def open(self) -> None:
        """Agree on versions and shake hands. Raises OSError, ProtocolError, KafkaError."""
        await send_all(self.socket, self.session.begin())
        while not self.session.is_open:
            try:
                count = self.socket.receive_into(self.session.room())
            except BlockingIOError:
                await self.socket.wait_readable()
                continue
            progress = self.session.received(count, trio.current_time())
            while progress.work is not None:
                result = await self.run_in_thread(progress.work.call)
                progress = self.session.worked(result, trio.current_time())
            if progress.to_send:
                await send_all(self.socket, progress.to_send)
        self.is_open = True

    @property
    def in_flight(self) -> int:
        """Number of requests that are sent, or being sent, and not answered."""
        return len(self._in_flight) + sum(not call.is_answered for call, _ in self._output)

    @property
    def has_room(self) -> bool:
        """True if a request may be sent now."""
        now = trio.current_time()
        return (
            self.is_open
            and self.in_flight < self.limit
            and self.session.not_before <= now < self.session.expires
        )

    def send(self, call: Call) -> None:
        """Send a request, when `has_room`; a request that cannot be encoded ends at once."""
        now = trio.current_time()
        deadline = now + call.timeout_s
        try:
            data = self.session.send(
                call.request, deadline=deadline, at_most=call.at_most, is_answered=call.is_answered
            )
        except (KafkaError, EncodeError) as error:
            call.done(call_error(error, self.place, call.name, sent=False))
            return
        call.deadline = deadline
        self.metrics.note_request(self.node, len(data))
        if call.is_answered:
            self._in_flight.append(call)
        self._output.append((call, memoryview(data)))
        if len(self._output) == 1 and not self._send_output():
            self._blocked.set()
        self._set_deadline(now)

    def fail(self, error: OSError) -> None:
        """End the connection, and all calls with an error."""
        self._failure = error
        self._scope.cancel()

    async def run(self) -> None:
        """Receive responses until the connection ends, or until cancelled. Ends all calls."""
        cause: BaseException | None = None
        try:
            with self._scope:
                self._set_deadline(trio.current_time())
                try:
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._write, name="writer")
                        await self._read()
                except* _BROKEN as group:
                    cause = leaves(group)[0]
            if self._failure is None and self._scope.cancelled_caught:
                cause = LateResponseError("no response in time")
        finally:
            self._close(self._failure if cause is None else cause)

    async def _read(self) -> None:
        while True:
            try:
                count = self.socket.receive_into(self.session.room())
            except BlockingIOError:
                await self.socket.wait_readable()
                continue
            now = trio.current_time()
            self.metrics.note_received(self.node, count)
            response = self.session.received(count, now).response
            if response is None:
                continue
            call = self._in_flight.popleft()
            self.metrics.note_response(self.node, now - call.deadline + call.timeout_s, now)
            self._set_deadline(now)
            if self.session.not_before > now:
                self._blocked.set()  # the writer says when the broker accepts requests again
            call.done(response)
            self.changed()

    async def _write(self) -> None:
        """Send what the socket did not take at once, and wait for the end of a throttle."""
        while True:
            await self._blocked.wait()
            self._blocked = trio.Event()
            while not self._send_output():
                await self.socket.wait_writable()
            if self.session.not_before > trio.current_time():
                await trio.sleep_until(self.session.not_before)
            self.changed()

    def _send_output(self) -> bool:
        """Give bytes to the socket; return whether all are sent.

        An error ends the connection.
        """
        while self._output:
            call, data = self._output[0]
            try:
                count = self.socket.send(data)
            except BlockingIOError:
                return False
            except OSError as error:
                self.fail(error)
                return True
            call.sent = True
            if count < len(data):
                self._output[0] = call, data[count:]
                return False
            self._output.popleft()
            if not call.is_answered:
                call.done(None)
        return True

    def _set_deadline(self, now: float) -> None:
        deadline = self.session.deadline
        if deadline == float("inf"):  # nothing is in flight
            deadline = min(now + self.idle_s, self.session.expires)
        self._scope.deadline = deadline

    def _close(self, cause: BaseException | None) -> None:
        self.is_open = False
        calls = [*self._in_flight, *(call for call, _ in self._output if not call.is_answered)]
        self._in_flight.clear()
        self._output.clear()
        if calls:
            self.socket.abort()
        else:
            self.socket.close()
        for call in calls:
            call.done(call_error(cause, self.place, call.name, sent=call.sent))
