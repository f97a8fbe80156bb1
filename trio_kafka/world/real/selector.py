"""Edge-triggered readiness by an epoll inside Trio's; `ring` writes to an eventfd in it.

The eventfd (`bell`) is never read: each write to it is a new edge, and 64 bits do not overflow.
"""

import errno
import os
import select
from collections.abc import Callable
from typing import Final, NoReturn

import trio

from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import PEER_DONE, READ, WRITE, Socket

_EDGES: Final = READ | WRITE | PEER_DONE | select.EPOLLET
_BELL: Final = READ | select.EPOLLET


class RealSelector:
    """See `protocols.Selector`."""

    def __init__(self, descriptors: Descriptors | None = None) -> None:
        """Make a selector. Raises OSError(EMFILE) without two free descriptors."""
        self._descriptors = descriptors = descriptors or Descriptors()
        descriptors.check_others(2)
        self._epoll = select.epoll()
        self.poll: Callable[[float, int], list[tuple[int, int]]] = self._epoll.poll
        try:
            self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except OSError:
            self._epoll.close()
            raise
        self._epoll.register(self.bell, _BELL)
        descriptors.others += 2

    def ring(self) -> None:
        if not self._epoll.closed:
            os.eventfd_write(self.bell, 1)

    def register(self, socket: Socket) -> None:
        self._check(socket)
        self._epoll.register(socket.key, _EDGES)

    def unregister(self, socket: Socket) -> None:
        self._check(socket)
        self._epoll.unregister(socket.key)

    async def wait(self) -> None:
        if self._epoll.closed:
            raise trio.ClosedResourceError
        await trio.lowlevel.wait_readable(self._epoll.fileno())

    def close(self) -> None:
        if not self._epoll.closed:
            trio.lowlevel.notify_closing(self._epoll.fileno())
            self._epoll.close()
            self.poll = _refuse_closed
            os.close(self.bell)
            self._descriptors.others -= 2

    def _check(self, socket: Socket) -> None:
        """Raise the system's error; select.epoll has ValueError for both."""
        if self._epoll.closed or socket.key < 0:
            _refuse_closed()


def _refuse_closed(*_: object) -> NoReturn:
    raise OSError(errno.EBADF, os.strerror(errno.EBADF))
