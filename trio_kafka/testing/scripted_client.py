"""Client that sends exactly what the test says: whole requests, partial frames, invalid bytes.

It works on any World. `ask` sends a message and decodes the response; `send` and `receive_frame`
handle raw bytes. Only one task may receive at a time.
"""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import trio

from trio_kafka.model import Endpoint
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import request_header_version, response_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.world.protocols import Network, Socket
from trio_kafka.world.world import World

T = TypeVar("T")
_SIZE: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">hhih")


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
    client = b"" if client_id is None else client_id.encode()
    size = -1 if client_id is None else len(client)
    tags = b"\0" if flexible else b""
    payload = _HEAD.pack(key, version, correlation, size) + client + tags + body
    return _SIZE.pack(len(payload)) + payload


def request_frame(
    request: object, version: int, *, correlation: int = 0, client_id: str | None = "scripted"
) -> bytes:
    """Return the frame of a request message."""
    message = message_of(type(request))
    if message.key is None:
        raise TypeError(f"{message.name} is not a request")
    return frame(
        message.key,
        version,
        to_bytes(request, version),
        correlation=correlation,
        client_id=client_id,
        flexible=request_header_version(message, version) >= 2,
    )


def newest(request: type[Any]) -> int:
    """Return the newest stable version of a request."""
    message = message_of(request)
    last, (first_unstable, last_unstable) = message.versions[1], message.unstable
    return min(last, first_unstable - 1) if first_unstable <= last_unstable else last


class ScriptedClient:
    """One connection."""

    def __init__(self, socket: Socket, client_id: str | None = "scripted") -> None:
        self.socket = socket
        self.client_id = client_id
        self._received = bytearray()
        self._correlation = 0

    async def send(self, data: bytes | bytearray | memoryview) -> None:
        """Send all bytes."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                await self.socket.wait_writable()
        await trio.lowlevel.checkpoint()

    async def receive(self, size: int) -> bytes:
        """Receive exactly `size` bytes. Raises EOFError if the stream ends before."""
        while len(self._received) < size:
            if not await self._receive_some(max(size - len(self._received), 1 << 16)):
                raise EOFError(f"the stream ended after {len(self._received)} of {size} bytes")
        data = bytes(memoryview(self._received)[:size])
        del self._received[:size]
        await trio.lowlevel.checkpoint()
        return data

    async def receive_frame(self) -> bytes:
        """Receive the next frame, without its size."""
        (size,) = _SIZE.unpack(await self.receive(4))
        return await self.receive(size)

    async def receive_answer(self, response: type[T], version: int) -> tuple[int, T]:
        """Receive the next response: correlation id and message."""
        data = await self.receive_frame()
        position = 4 + response_header_version(message_of(response), version)
        answer, end = decoder(response, version)(data, position)
        if end != len(data):
            raise ValueError(f"{len(data) - end} unexpected bytes after the response")
        return _SIZE.unpack_from(data)[0], answer

    async def ask(self, request: object, version: int) -> Any:
        """Send a request and return its response. Raises ValueError for an unexpected response."""
        message = message_of(type(request))
        if message.response is None:
            raise TypeError(f"{message.name} has no response")
        self._correlation += 1
        data = request_frame(
            request, version, correlation=self._correlation, client_id=self.client_id
        )
        await self.send(data)
        correlation, answer = await self.receive_answer(message.response, version)
        if correlation != self._correlation:
            raise ValueError(f"response has correlation id {correlation}, want {self._correlation}")
        return answer

    async def wait_closed(self) -> bool:
        """Wait for the server to end the stream. Returns True for an orderly end, False for a
        reset.
        """
        try:
            while await self._receive_some(1 << 16):
                pass
        except ConnectionError:
            return False
        return True

    def close(self) -> None:
        self.socket.close()

    async def _receive_some(self, size: int) -> int:
        buffer = bytearray(min(size, 1 << 20))
        while True:
            try:
                n = self.socket.receive_into(buffer)
            except BlockingIOError:
                await self.socket.wait_readable()
            else:
                self._received += memoryview(buffer)[:n]
                return n


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
