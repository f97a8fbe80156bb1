"""A client that sends exactly what it is told: whole requests, half frames, garbage.

Works on any World. `ask` sends a message and decodes its answer; `send` and `receive_frame` are for
what no message says. One task at a time receives.
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
    """A whole request frame with its size; flexible: header 2, with no tagged fields."""
    client = b"" if client_id is None else client_id.encode()
    size = -1 if client_id is None else len(client)
    tags = b"\0" if flexible else b""
    payload = _HEAD.pack(key, version, correlation, size) + client + tags + body
    return _SIZE.pack(len(payload)) + payload


def request_frame(
    request: object, version: int, *, correlation: int = 0, client_id: str | None = "scripted"
) -> bytes:
    """The frame of a message."""
    message = message_of(type(request))
    if message.key is None:
        raise TypeError(f"{message.name} is no request")
    return frame(
        message.key,
        version,
        to_bytes(request, version),
        correlation=correlation,
        client_id=client_id,
        flexible=request_header_version(message, version) >= 2,
    )


def newest(request: type[Any]) -> int:
    """The newest stable version of a request."""
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
        """Send all of it."""
        view = memoryview(data)
        while view:
            try:
                view = view[self.socket.send(view) :]
            except BlockingIOError:
                await self.socket.wait_writable()
        await trio.lowlevel.checkpoint()

    async def receive(self, size: int) -> bytes:
        """Exactly so many bytes. Raises EOFError where the stream ends before."""
        while len(self._received) < size:
            if not await self._receive_some(max(size - len(self._received), 1 << 16)):
                raise EOFError(f"the stream ended after {len(self._received)} of {size} bytes")
        data = bytes(memoryview(self._received)[:size])
        del self._received[:size]
        await trio.lowlevel.checkpoint()
        return data

    async def receive_frame(self) -> bytes:
        """The next frame without its size."""
        (size,) = _SIZE.unpack(await self.receive(4))
        return await self.receive(size)

    async def receive_answer(self, response: type[T], version: int) -> tuple[int, T]:
        """Correlation id and message of the next answer."""
        data = await self.receive_frame()
        position = 4 + response_header_version(message_of(response), version)
        answer, end = decoder(response, version)(data, position)
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes behind the answer")
        return _SIZE.unpack_from(data)[0], answer

    async def ask(self, request: object, version: int) -> Any:
        """Send a request and wait for its answer. Raises ValueError if another one comes."""
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
            raise ValueError(f"answer {correlation}: want {self._correlation}")
        return answer

    async def wait_closed(self) -> bool:
        """Until the server has ended the stream. True: in order; False: by a reset."""
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
    """A new connection; whoever asks closes it."""
    return ScriptedClient(await network.connect(address.host, address.port), client_id)


@asynccontextmanager
async def connected(world: World, address: Endpoint) -> AsyncIterator[ScriptedClient]:
    """A connection for as long as the block runs."""
    client = await connect(world.network, address)
    try:
        yield client
    finally:
        client.close()
