"""A socket of World as a Trio stream, for hypercorn's server of one connection.

hypercorn sends in a shielded scope without a timeout: a client that stops reading would block it,
and the stop of the plane, forever. The timeouts are therefore here. A send ends when its client has
read nothing for `stall_s`, when the deadline of its response has passed, and at once when the
connection is aborted. An idle connection ends when its client leaves or the idle timeout expires,
whatever state hypercorn assumes.
"""

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import Socket

_AF_INET: Final = 2  # makes hypercorn treat an address as host and port, of either family
_MOST: Final = 16 * 1024  # bytes per receive: heads are small, and bodies arrive in order
_DROPPED: Final = 1 << 20  # unread bytes up to which a client still gets its response
_SLICE: Final = 256 * 1024  # bytes per send: copying them takes one short step


class Addresses:
    """The socket methods that hypercorn calls."""

    def __init__(self, local: Endpoint, peer: Endpoint) -> None:
        self.family = _AF_INET
        self._local = local
        self._peer = peer

    def getsockname(self) -> tuple[str, int]:
        return (self._local.host, self._local.port)

    def getpeername(self) -> tuple[str, int]:
        return (self._peer.host, self._peer.port)


class SocketStream:
    """The stream of one connection; takes ownership of `socket`. One task receives, one sends.

    stall_s: time without progress after which a send fails. idle_s: idle timeout between requests.
    over: called when no more bytes will arrive. answer_by: run time by which the response must be
    sent. gone: True when the peer has left.
    """

    def __init__(
        self, socket: Socket, *, stall_s: float, idle_s: float, over: Callable[[], None]
    ) -> None:
        self.socket = Addresses(socket.local, socket.peer)
        self.answer_by = inf
        self.gone = False
        self.received = 0
        self.sent = 0
        self._socket = socket
        self._stall_s = stall_s
        self._idle_s = idle_s
        self._over = over
        self._busy = 0
        self._done = False
        self._leave: Callable[[], None] | None = None
        self._patience = trio.CancelScope(deadline=trio.current_time() + idle_s)

    @property
    def is_busy(self) -> bool:
        """True if a request is being answered."""
        return self._busy > 0

    def begin_request(self) -> None:
        """Begin a request: the idle timeout stops."""
        self._busy += 1
        self._patience.deadline = inf

    def when_left(self, call: Callable[[], None]) -> None:
        """Register a call for a client that leaves during the request."""
        self._leave = call
        if self._done:
            call()

    def end_request(self) -> None:
        """End a request: the idle timeout starts."""
        self._busy -= 1
        self._leave = None
        if self._busy:
            return
        self._patience.deadline = trio.current_time() + self._idle_s
        if self._done:
            self._over()

    async def receive_some(self, most: int) -> bytes:
        """Receive some bytes, none at the end. Raises BrokenResourceError, ClosedResourceError."""
        buffer = bytearray(min(most, _MOST))
        await trio.lowlevel.checkpoint()
        while True:
            self._check()
            try:
                count = self._socket.receive_into(buffer)
            except BlockingIOError:
                if not await self._wait_readable():
                    self._finish()
                    return b""
            except OSError as error:
                self.abort()
                self._finish()
                raise trio.BrokenResourceError(str(error)) from error
            else:
                self.received += count
                if not count:
                    self._finish()
                return bytes(memoryview(buffer)[:count])

    async def send_all(self, data: bytes) -> None:
        """Send all bytes, or close. Raises BrokenResourceError, ClosedResourceError."""
        unsent = memoryview(data)
        while unsent:
            self._check()
            try:
                count = self._socket.send(unsent[:_SLICE])
            except BlockingIOError:
                await self._wait_writable()
            except OSError as error:
                self.abort()
                raise trio.BrokenResourceError(str(error)) from error
            else:
                self.sent += count
                unsent = unsent[count:]
                await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """Send end-of-stream. Raises BrokenResourceError, ClosedResourceError."""
        self._check()
        try:
            self._socket.shutdown_write()
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Close, after a checkpoint."""
        self._drop_received()
        self.close()
        self._finish()
        # This may have cancelled the caller, which may have an error to raise.
        await trio.lowlevel.cancel_shielded_checkpoint()

    def abort(self) -> None:
        """Reset the connection; waiters get ClosedResourceError. Idempotent."""
        if not self.gone:
            self.gone = True
            self._socket.abort()

    def close(self) -> None:
        """Close; bytes already sent still arrive. Idempotent."""
        self.gone = True
        self._socket.close()

    def _drop_received(self) -> None:
        """Discard received bytes: unread ones would turn the close into a reset.

        Those below TLS are not decrypted for that: small records would take a second.
        """
        buffer, socket = bytearray(_MOST), self._socket.beneath
        for _ in range(_DROPPED // _MOST):
            try:
                if self.gone or not socket.receive_into(buffer):
                    return
            except OSError:
                return

    async def _wait_readable(self) -> bool:
        """Wait for bytes. False: the idle timeout expired."""
        patience = self._patience = trio.CancelScope(deadline=self._patience.deadline)
        with patience:
            await self._socket.wait_readable()
        return not patience.cancelled_caught

    def _finish(self) -> None:
        """Note the end of input; the response may still be sent."""
        self._done = True
        if not self._busy:
            self._over()
        elif self._leave is not None:
            self._leave()

    async def _wait_writable(self) -> None:
        deadline = min(trio.current_time() + self._stall_s, self.answer_by)
        with trio.CancelScope(deadline=deadline) as scope:
            await self._socket.wait_writable()
        if scope.cancelled_caught:
            self.abort()
            raise trio.BrokenResourceError("the client stopped reading")

    def _check(self) -> None:
        if self.gone:
            raise trio.ClosedResourceError
