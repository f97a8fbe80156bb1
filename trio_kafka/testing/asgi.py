"""Requests to an ASGI app, without a server: for apps that plugins mount, in any world.

The app is called in the caller's task, with the whole body at once; what it sends is gathered.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import unquote

import trio
from attrs import field

from trio_kafka.attributes import define

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
HOST: Final = "localhost"


class IncompleteAnswerError(Exception):
    """The app returned before it had answered."""


@define(kw_only=True, eq=False)
class Answer:
    """What came; `ended`: with its end. Header names are lower case, the last of a name counts."""

    status: int = 0
    headers: dict[str, str] = field(factory=dict)
    chunks: list[bytes] = field(factory=list)
    ended: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> Any:
        """Raises ValueError."""
        return json.loads(self.body)


async def ask(
    app: App,
    method: str,
    target: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | Iterable[bytes] = b"",
    http_version: str = "1.1",
    extensions: Mapping[str, Any] | None = None,
) -> Answer:
    """The answer to one request. Raises IncompleteAnswerError, and what the app raises.

    target: path and query. headers: `host` is `HOST` where none is given. body: bytes, or the
    pieces in which it comes. extensions: of the scope, such as what the plane says of who had
    its token: {"trio_kafka": {"authorized": True}}. The client stays until the app has returned.
    """
    pieces = [body] if isinstance(body, bytes) else list(body)
    coming = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]
    answer = Answer()

    async def receive() -> Message:
        await trio.lowlevel.checkpoint()
        if not coming:
            await trio.sleep_forever()
        return coming.pop(0)

    async def send(message: Message) -> None:
        await trio.lowlevel.checkpoint()
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            given = message.get("headers", ())
            answer.headers = {name.decode(): value.decode() for name, value in given}
        elif message["type"] == "http.response.body":
            answer.chunks.append(bytes(message.get("body", b"")))
            answer.ended = not message.get("more_body", False)

    scope = _scope(method, target, headers or {}, http_version)
    scope["extensions"] = dict(extensions or {})
    await app(scope, receive, send)
    if not answer.ended:
        raise IncompleteAnswerError(f"{method} {target}: {answer}")
    return answer


def _scope(method: str, target: str, headers: Mapping[str, str], http_version: str) -> Message:
    path, _, query = target.partition("?")
    named = {"host": HOST, **{name.lower(): value for name, value in headers.items()}}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.1"},
        "http_version": http_version,
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
