"""Client that sends exactly what the test says: whole requests, partial frames, invalid bytes.

It works on any World. `ask` sends a message and decodes the response; `send` and `receive_frame`
handle raw bytes. Only one task may receive at a time.
"""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, TypeVar, cast

import trio

from trio_kafka.model import Endpoint
from trio_kafka.peers.in_flight import InFlightRequests
from trio_kafka.peers.link import send_all
from trio_kafka.peers.session import Request
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.headers import RequestHeader
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire import client as wire
from trio_kafka.world.protocols import Network, Socket
from trio_kafka.world.world import World

T = TypeVar("T")
_SIZE: Final = struct.Struct(">i")


def frame(
    key: int,
    version: int,
    body: bytes = b"",
    *,
    correlation: int = 0,
    client_id: str | None = "scripted",
    flexible: bool = False,
) -> bytes:
    """Return a request frame with its size. flexible: header 2, without tagged fields."""
    head = to_bytes(RequestHeader(key, version, correlation, client_id), 2 if flexible else 1)
    return _SIZE.pack(len(head) + len(body)) + head + body


def request_frame(
    request: object, version: int, *, correlation: int = 0, client_id: str | None = "scripted"
) -> bytes:
    """Return the frame of a request message."""
    return wire.request_frame(request, version, correlation=correlation, client_id=client_id)


def newest(request: type[object]) -> int:
    """Return the newest stable version of a request."""
    return wire.stable_versions(message_of(request))[1]


class ScriptedClient:
    """One connection."""

    def __init__(self, socket: Socket, client_id: str | None = "scripted") -> None:
        self.socket = socket
        self._in_flight = InFlightRequests(client_id)

    @property
    def client_id(self) -> str | None:
        """Client id of the requests that `ask` sends."""
        return self._in_flight.client_id

    @client_id.setter
    def client_id(self, client_id: str | None) -> None:
        self._in_flight.client_id = client_id

    async def send(self, data: bytes | bytearray | memoryview) -> None:
        """Send all bytes."""
        await send_all(self.socket, data)
        await trio.lowlevel.checkpoint()

    async def receive(self, size: int) -> bytes:
        """Receive exactly `size` bytes. Raises EOFError if the stream ends before."""
        data = bytearray(size)
        unfilled = memoryview(data)
        while unfilled:
            count = await self._receive_into(unfilled)
            if not count:
                raise EOFError(f"the stream ended after {size - len(unfilled)} of {size} bytes")
            unfilled = unfilled[count:]
        await trio.lowlevel.checkpoint()
        return bytes(data)

    async def receive_frame(self) -> bytes:
        """Receive the next frame, without its size."""
        (size,) = _SIZE.unpack(await self.receive(_SIZE.size))
        return await self.receive(size)

    async def receive_answer(self, response: type[T], version: int) -> tuple[int, T]:
        """Receive the next response: correlation id and message."""
        data = await self.receive_frame()
        return wire.correlation_of(data), wire.decode_response(response, version, data)

    async def ask(self, request: Request[T], version: int) -> T:
        """Send a request and return its response. Raises ProtocolError for an unexpected one.

        The response to an earlier ask, which was cancelled, is discarded.
        """
        await self.send(self._in_flight.add(request, version))
        answer = None
        while self._in_flight:
            count = await self._receive_into(self._in_flight.room())
            if not count:
                raise EOFError("the stream ended before the response")
            answer = self._in_flight.received(count)
        return cast("T", answer)

    async def wait_closed(self) -> bool:
        """Wait for the server to end the stream. Returns True for an orderly end, False for a
        reset.
        """
        buffer = bytearray(1 << 16)
        try:
            while await self._receive_into(buffer):
                pass
        except ConnectionError:
            return False
        return True

    def close(self) -> None:
        self.socket.close()

    async def _receive_into(self, buffer: bytearray | memoryview) -> int:
        """Receive at least one byte; 0: the end of the stream."""
        while True:
            try:
                return self.socket.receive_into(buffer)
            except BlockingIOError:
                await self.socket.wait_readable()


async def connect(
    network: Network, address: Endpoint, *, client_id: str | None = "scripted"
) -> ScriptedClient:
    """Open a connection; the caller must close it."""
    return ScriptedClient(await network.connect(address.host, address.port), client_id)


@asynccontextmanager
async def connected(world: World, address: Endpoint) -> AsyncIterator[ScriptedClient]:
    """Open a connection for the duration of the block."""
    client = await connect(world.network, address)
    try:
        yield client
    finally:
        client.close()
