"""Connected TCP sockets, whose hot calls are bound C methods."""

import os
import socket
import struct
from typing import Any, Final, TypeAlias

import trio

from trio_kafka.model import Endpoint
from trio_kafka.world.descriptors import Descriptors
from trio_kafka.world.protocols import CLOSED, Buffer, ColdRangeError, Lease, RangeCutError

_MORE: Final = socket.MSG_MORE
_RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER of 0 s
_COUNTS: Final = struct.Struct("=QQ")  # tcpi_bytes_acked, tcpi_bytes_received
_COUNTS_AT: Final = 120  # in `struct tcp_info` of Linux, since 4.1
_IN_MEMORY: Final = -1  # key of a lease
_MAPPED: Final = "::ffff:"
Address: TypeAlias = tuple[Any, ...]  # host, port and what the family adds, as in `socket`


def endpoint(address: Address) -> Endpoint:
    """Return the endpoint of a socket address, with a mapped IPv4 address as IPv4."""
    host, port = address[:2]
    if host.startswith(_MAPPED) and "." in host:
        host = host[len(_MAPPED) :]
    return Endpoint(host, port)


class RealSocket:
    """See `protocols.Socket`. sock: a connected socket, closed by this one."""

    __slots__ = ("_descriptors", "_send", "_sock", "key", "local", "peer", "receive_into", "send")

    more = False
    kept = 0

    def __init__(self, sock: socket.socket, peer: Endpoint, descriptors: Descriptors) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._sock = sock
        self.key = sock.fileno()
        self.peer = peer
        self.local = endpoint(sock.getsockname())
        self.receive_into = sock.recv_into
        self.send = self._send = sock.send
        self._descriptors = descriptors
        descriptors.sockets += 1

    @property
    def beneath(self) -> "RealSocket":
        return self

    def send_more(self, data: Buffer) -> int:
        return self._send(data, _MORE)

    def send_file_range(self, lease: Lease, start: int, limit: int) -> int:
        if lease.cut:
            raise RangeCutError
        if lease.is_cold(start, limit):
            raise ColdRangeError
        if lease.key == _IN_MEMORY:
            return self._send(lease.content(start, limit))
        sent = os.sendfile(self.key, lease.key, start, min(limit, lease.end - start))
        if sent == 0:  # another program has cut the file
            raise RangeCutError
        return sent

    def make_room(self, *, sending: int = 0, receiving: int = 0) -> None:
        if sending:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, sending)
        if receiving:
            # The kernel doubles the size, but bounds the window by the first one.
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receiving)
            self._sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, 2 * receiving)

    def transferred(self) -> tuple[int, int]:
        info = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _COUNTS_AT + _COUNTS.size)
        if len(info) < _COUNTS_AT + _COUNTS.size:  # a kernel that does not count
            return 0, 0
        acknowledged, received = _COUNTS.unpack_from(info, _COUNTS_AT)
        return received, acknowledged

    def shutdown_write(self) -> None:
        self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        if self._sock.fileno() != -1:
            self.key = CLOSED
            trio.lowlevel.notify_closing(self._sock)
            self._sock.close()
            self._descriptors.sockets -= 1

    def abort(self) -> None:
        if self._sock.fileno() != -1:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.close()

    async def wait_readable(self) -> None:
        self._check()
        await trio.lowlevel.wait_readable(self._sock)

    async def wait_writable(self) -> None:
        self._check()
        await trio.lowlevel.wait_writable(self._sock)

    def _check(self) -> None:
        if self._sock.fileno() == -1:
            raise trio.ClosedResourceError
