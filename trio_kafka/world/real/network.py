"""Listeners and connections; names are resolved in a thread."""

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

import trio

from trio_kafka.model import Endpoint
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import CLOSED
from trio_kafka.world.real.clock import MachineClock
from trio_kafka.world.real.selector import RealSelector
from trio_kafka.world.real.socket import Address, RealSocket, endpoint

T = TypeVar("T")
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - all interfaces
_LOOK_UPS: Final = 4  # threads for look-ups that no connection waits for: long lists of hosts
_CONNECTING: Final = 8  # threads for look-ups of connections and listeners


class RealListener:
    """See `protocols.Listener`. sock: a listening socket, closed by this listener.

    receive_buffer: of accepted sockets; None: that of the listener. descriptors: their budget;
    without room `accept` raises OSError(EMFILE), and clients wait in the kernel's queue.
    """

    def __init__(
        self,
        sock: socket.socket,
        descriptors: Descriptors,
        receive_buffer: int | None = None,
    ) -> None:
        self._sock = sock
        self._descriptors = descriptors
        self._receive_buffer = receive_buffer
        self.key = sock.fileno()
        self.address = endpoint(sock.getsockname())
        descriptors.others += 1

    async def accept(self) -> RealSocket:
        while True:
            if self._sock.fileno() == -1:
                raise trio.ClosedResourceError
            await trio.lowlevel.wait_readable(self._sock)
            with suppress(BlockingIOError):
                return self.accept_nowait()

    def accept_nowait(self) -> RealSocket:
        self._descriptors.check_socket()
        sock, address = self._sock.accept()
        try:
            _set_buffers(sock, None, self._receive_buffer)
            return RealSocket(sock, endpoint(address), self._descriptors)
        except BaseException:
            sock.close()
            raise

    def close(self) -> None:
        if self._sock.fileno() != -1:
            self.key = CLOSED
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
            self._descriptors.others -= 1


class RealNetwork:
    """See `protocols.Network`.

    A name server may not answer for half a minute, and the thread of a look-up lasts as long even
    if the look-up is cancelled. So look-ups have threads of their own: those of Trio's default
    limiter are for logins, TLS and decompression.
    """

    def __init__(
        self, clock: MachineClock | SkippingClock, descriptors: Descriptors | None = None
    ) -> None:
        self._clock = clock
        self._descriptors = descriptors or Descriptors()
        self._look_ups = trio.CapacityLimiter(_LOOK_UPS)
        self._connecting = trio.CapacityLimiter(_CONNECTING)

    async def host_name(self) -> str:
        return await self._in_thread(socket.getfqdn, self._connecting)

    async def addresses(self, host: str) -> list[str]:
        results = await self._resolve(host, 0, 0, limiter=self._look_ups)
        return list(dict.fromkeys(address[0] for _, address in results))

    async def canonical_name(self, address: str) -> str:
        return await self._in_thread(partial(socket.getfqdn, address), self._look_ups)

    def selector(self) -> RealSelector:
        return RealSelector(self._descriptors)

    async def listen(
        self,
        host: str,
        port: int,
        backlog: int = 128,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
        largest_buffer: int = 0,
    ) -> RealListener:
        if host in _EVERYWHERE:
            await trio.lowlevel.checkpoint()
            both = socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if both else socket.AF_INET
            address: Address = ("::" if both else "0.0.0.0", port)  # noqa: S104 - as requested
        else:
            both = False
            flags = socket.AI_PASSIVE
            addresses = await self._resolve(host, port, flags, limiter=self._connecting)
            family, address = addresses[0]
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, not both)
            own = receive_buffer
            if own is not None and largest_buffer > own:
                # The window of a connection is bounded by the buffer of its listener.
                own = largest_buffer
            _set_buffers(sock, send_buffer, own)
            sock.bind(address)
            sock.listen(backlog)
            buffer = None if own == receive_buffer else receive_buffer
            return RealListener(sock, self._descriptors, buffer)
        except BaseException:
            sock.close()
            raise

    async def connect(
        self,
        host: str,
        port: int,
        *,
        send_buffer: int | None = None,
        receive_buffer: int | None = None,
    ) -> RealSocket:
        addresses = await self._resolve(host, port, 0, limiter=self._connecting)
        for number, (family, address) in enumerate(addresses, 1):
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                _set_buffers(sock, send_buffer, receive_buffer)
                await _connect(sock, address)
                return RealSocket(sock, Endpoint(host, port), self._descriptors)
            except OSError:
                sock.close()
                if number == len(addresses):
                    raise
            except BaseException:
                sock.close()
                raise
        raise OSError(f"{host} has no address: want one")

    async def _resolve(
        self, host: str, port: int, flags: int, *, limiter: trio.CapacityLimiter
    ) -> list[tuple[socket.AddressFamily, Address]]:
        """Return families and addresses, best first. Cancelling abandons the look-up."""
        look_up = partial(socket.getaddrinfo, host or "localhost", port, type=socket.SOCK_STREAM)
        try:
            results = look_up(flags=flags | socket.AI_NUMERICHOST)
        except socket.gaierror:
            results = await self._in_thread(partial(look_up, flags=flags), limiter)
        else:
            await trio.lowlevel.checkpoint()
        return [(family, address) for family, _, _, _, address in results]

    async def _in_thread(self, look_up: Callable[[], T], limiter: trio.CapacityLimiter) -> T:
        """Run a look-up in a thread. Cancelling abandons the thread, which counts until it ends."""
        with self._clock.working():
            return await trio.to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=limiter)


def _set_buffers(sock: socket.socket, send_buffer: int | None, receive_buffer: int | None) -> None:
    """Set buffers before connecting: the receive buffer decides the window scale."""
    if send_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
    if receive_buffer is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)


async def _connect(sock: socket.socket, address: Address) -> None:
    with suppress(BlockingIOError):
        sock.connect(address)
    await trio.lowlevel.wait_writable(sock)
    if error := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
