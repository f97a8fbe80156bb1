"""A socket of World in the words of Trio's streams, for hypercorn's server of one connection.

hypercorn sends inside a shielded scope and without a time-out: a client that has stopped reading
would hold it for good, and with it whoever stops the plane. So the bounds are here: a send ends
when its client has taken nothing for a while, when its answer has no time left, and at once when
the connection is aborted. And a connection without a request ends when its client has left, or has
been silent for too long, whatever state hypercorn believes it to be in.
"""

from collections.abc import Callable
from math import inf
from typing import Final

import trio

from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import Socket

_AF_INET: Final = 2  # by it hypercorn takes an address as host and port, of either family
_MOST: Final = 16 * 1024  # bytes received at once: heads are small, and bodies come in order
_DROPPED: Final = 1 << 20  # bytes that a client has sent in vain and still gets its answer
_SLICE: Final = 256 * 1024  # bytes offered at once: a copy of them is one turn's work


class Addresses:
    """What hypercorn asks the socket of a stream."""

    def __init__(self, local: Endpoint, peer: Endpoint) -> None:
        self.family = _AF_INET
        self._local = local
        self._peer = peer

    def getsockname(self) -> tuple[str, int]:
        return (self._local.host, self._local.port)

    def getpeername(self) -> tuple[str, int]:
        return (self._peer.host, self._peer.port)


class Stream:
    """Of one connection; takes `socket` over. One task receives, one at a time sends.

    stall_s: how long the peer may take nothing. idle_s: how long it may have no request. over: told
    when nothing more is to come. answer_by: the time of the run when what is being sent must have
    been taken. gone: nobody gets what is sent any more.
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
        self._left: Callable[[], None] | None = None
        self._patience = trio.CancelScope(deadline=trio.current_time() + idle_s)

    @property
    def is_busy(self) -> bool:
        """True if a request is being answered."""
        return self._busy > 0

    def begin_request(self) -> None:
        """There is a request: what is to come may take as long as that may."""
        self._busy += 1
        self._patience.deadline = inf

    def when_left(self, call: Callable[[], None]) -> None:
        """Have this called if the client leaves during the request."""
        self._left = call
        if self._done:
            call()

    def end_request(self) -> None:
        """Without one, the client has a while for the next."""
        self._busy -= 1
        self._left = None
        if self._busy:
            return
        self._patience.deadline = trio.current_time() + self._idle_s
        if self._done:
            self._over()

    async def receive_some(self, most: int) -> bytes:
        """Some bytes; none at the end. BrokenResourceError, ClosedResourceError."""
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
        """All of it, or BrokenResourceError, ClosedResourceError: the connection is closed then."""
        left = memoryview(data)
        while left:
            self._check()
            try:
                count = self._socket.send(left[:_SLICE])
            except BlockingIOError:
                await self._wait_writable()
            except OSError as error:
                self.abort()
                raise trio.BrokenResourceError(str(error)) from error
            else:
                self.sent += count
                left = left[count:]
                await trio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """No more will be sent. BrokenResourceError, ClosedResourceError."""
        self._check()
        try:
            self._socket.shutdown_write()
        except OSError as error:
            raise trio.BrokenResourceError(str(error)) from error
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """As `close`."""
        self._drop_received()
        self.close()
        self._finish()
        # It may have cancelled its caller, who may have an error to tell of.
        await trio.lowlevel.cancel_shielded_checkpoint()

    def abort(self) -> None:
        """Reset the connection: who waits on it gets ClosedResourceError. Idempotent."""
        if not self.gone:
            self.gone = True
            self._socket.abort()

    def close(self) -> None:
        """What was sent still arrives. Idempotent."""
        self.gone = True
        self._socket.close()

    def _drop_received(self) -> None:
        """What is unread at the close would reset the connection, before the client has read."""
        buffer = bytearray(_MOST)
        for _ in range(_DROPPED // _MOST):
            try:
                if self.gone or not self._socket.receive_into(buffer):
                    return
            except OSError:
                return

    async def _wait_readable(self) -> bool:
        """False: the client had no request, and took too long for the next one."""
        patience = self._patience = trio.CancelScope(deadline=self._patience.deadline)
        with patience:
            await self._socket.wait_readable()
        return not patience.cancelled_caught

    def _finish(self) -> None:
        """Nothing more comes; the answer to what came may still go."""
        self._done = True
        if not self._busy:
            self._over()
        elif self._left is not None:
            self._left()

    async def _wait_writable(self) -> None:
        deadline = min(trio.current_time() + self._stall_s, self.answer_by)
        with trio.CancelScope(deadline=deadline) as scope:
            await self._socket.wait_writable()
        if scope.cancelled_caught:
            self.abort()
            raise trio.BrokenResourceError("the client takes nothing")

    def _check(self) -> None:
        if self.gone:
            raise trio.ClosedResourceError
