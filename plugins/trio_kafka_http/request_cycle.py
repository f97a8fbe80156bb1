"""One request and its response: the `receive` and `send` of an app.

The app must obey ASGI, and the client the limit of a body: a violation raises here, and never puts
malformed bytes on the connection. The head of a response is held back until its first body bytes,
so that an app that fails before them still results in a complete 500.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, Protocol

import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.strict_json import dump_json

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]
LINGER_S: Final = 2.0  # time to read a body that the app did not read
_UNSAFE: Final = frozenset(b"\r\n\0")
# An app may answer with text that clients chose, such as records: a browser must not find a page.
_NO_SNIFFING: Final = (b"x-content-type-options", b"nosniff")


class Peer(Protocol):
    """Connection that a request came over."""

    @property
    def local(self) -> str:
        """Address that the client connected to."""

    @property
    def gone(self) -> bool: ...
    @property
    def node(self) -> Node:
        """Node of the connection in the tree."""

    @property
    def probes_only(self) -> bool:
        """True if only one health check is allowed."""

    def refuse(self) -> None:
        """Note a request that is no health check."""

    def answer_by(self, deadline: float) -> None:
        """Set the time from which sending may be cut off."""

    def when_left(self, call: Callable[[], None]) -> None:
        """Register a call for a client that leaves before the response has ended."""

    def abort(self) -> None:
        """Close the connection at once, without sending what is buffered."""


class BodyTooLargeError(Exception):
    """The body exceeds its limit."""


class ClientGoneError(OSError):
    """The client closed its connection before the end of the response."""


class RequestCycle:
    """HTTP request and its response.

    status: of the response, once begun. mount: mount path of the app.
    starved: cancelled while a part of the body was still missing.
    """

    def __init__(
        self, *, request_id: str, receive: Receive, send: Send, peer: Peer, most_body: int
    ) -> None:
        self.request_id = request_id
        self.status: int | None = None
        self.ended = False
        self.starved = False
        self.mount = ""
        self.too_large = False
        self._receive = receive
        self._send = send
        self._peer = peer
        self._most_body = most_body
        self._taken = 0
        self._body_read = False
        self._disconnected = False
        self._head: Message | None = None

    @property
    def begun(self) -> bool:
        return self.status is not None

    @property
    def gone(self) -> bool:
        """True if the client has left."""
        return self._disconnected or self._peer.gone

    def leave(self) -> None:
        """Note that the client has left."""
        self._disconnected = True

    async def receive(self) -> Message:
        """ASGI's `receive`. Raises BodyTooLargeError."""
        if self.too_large:
            raise BodyTooLargeError
        try:
            message = await self._receive()
        except trio.Cancelled:
            self.starved = not self._body_read
            raise
        if message["type"] == "http.disconnect":
            self._disconnected = True
            return message
        self._taken += len(message.get("body", b""))
        self._body_read = not message.get("more_body", False)
        if self._taken > self._most_body:
            self.too_large = True
            raise BodyTooLargeError
        return message

    async def send(self, message: Message) -> None:
        """ASGI's `send`. Raises ClientGoneError, ValueError for what cannot be sent."""
        kind = message["type"]
        if kind == "http.response.start":
            if self._head is not None:
                raise ValueError("http.response.start was sent twice")
            self._head = _checked(message)
        elif kind != "http.response.body":
            raise ValueError(f"{kind} is not supported")
        elif self._head is None:
            raise ValueError("http.response.body before http.response.start")
        elif self.ended:
            raise ValueError("http.response.body after the last one")
        else:
            await self._send_body(
                bytes(message.get("body", b"")), more=bool(message.get("more_body", False))
            )

    async def answer(
        self, status: int, document: object, headers: Headers = (), *, closes: bool = False
    ) -> None:
        """Send a complete JSON response; nothing if one has begun or the client has left.

        closes: close the connection after it. Always true of a connection for probes.
        """
        body = dump_json(document).encode() + b"\n"
        json = ((b"content-type", b"application/json"), *headers)
        await self.answer_page(status, body, json, closes=closes)

    async def answer_page(
        self, status: int, body: bytes, headers: Headers, *, closes: bool = False
    ) -> None:
        """Send a complete response, as `answer`. headers: with the type of the body."""
        if closes or self._peer.probes_only:
            headers = (*headers, (b"connection", b"close"))
            # hypercorn cuts a closing response off if it reads further bytes while that is sent.
            # With the whole body read, and a turn to notice that, it reads no further.
            await self._read_rest()
            await trio.lowlevel.checkpoint()
        if self.begun or self.gone:
            return
        all_headers = [
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *headers,
        ]
        head = {"type": "http.response.start", "status": status, "headers": all_headers}
        self._head = _checked(head)
        await self._send_body(body, more=False)

    async def refuse(
        self, status: int, message: str, headers: Headers = (), *, closes: bool = False
    ) -> None:
        """Send an error, in the shape of Kafka Connect's REST interface; otherwise as `answer`."""
        document = {"error_code": status, "message": message, "request_id": self.request_id}
        await self.answer(status, document, headers, closes=closes)

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        if self.gone:
            raise ClientGoneError("the client has left")
        if not self.begun and self._head is not None:
            self.status = self._head["status"]
            headers = [*self._head["headers"], (b"x-request-id", self.request_id.encode())]
            if not any(name.lower() == _NO_SNIFFING[0] for name, _ in headers):
                headers.append(_NO_SNIFFING)
            await self._send({**self._head, "headers": headers})
        if more or not self._body_read:
            await self._send({"type": "http.response.body", "body": body, "more_body": True})
            body = b""
        if more:
            return
        if not self._body_read and not await self._read_rest():
            # hypercorn would wait until the rest is read.
            self.ended = True
            self._peer.abort()
            return
        await self._send({"type": "http.response.body", "body": body, "more_body": False})
        self.ended = True

    async def _read_rest(self) -> bool:
        """Discard the rest of the body; return True if it was complete.

        Closing while the client still sends would reset the connection before it has read.
        """
        with trio.move_on_after(LINGER_S):
            while not self._body_read and not self._disconnected:
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    self._disconnected = True
                    break
                self._taken += len(message.get("body", b""))
                self._body_read = not message.get("more_body", False)
                if self._taken > 2 * self._most_body:
                    break
        return self._body_read or self._disconnected


def _checked(message: Message) -> Message:
    """Check the head of a response. Raises ValueError for one that would break the connection."""
    status = message["status"]
    if not isinstance(status, int) or not 200 <= status <= 599:
        raise ValueError(f"status {status!r}: want 200 to 599")
    headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
    for name, value in headers:
        if not name or name.startswith(b":") or not _UNSAFE.isdisjoint(name + value):
            raise ValueError(f"header {name!r}: {value!r} cannot be sent")
    return {"type": "http.response.start", "status": status, "headers": headers}
