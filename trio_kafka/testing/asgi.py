"""Requests to an ASGI app without a server, for apps that plugins mount, in any World.

The app runs in the caller's task and receives the whole body at once; its output is collected.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final
from urllib.parse import unquote

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.strict_json import parse_json

Message = MutableMapping[str, Any]
App = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
HOST: Final = "localhost"


class IncompleteAnswerError(Exception):
    """App that returned before it completed its response."""


@define(kw_only=True, eq=False)
class Answer:
    """Response of an app. ended: it is complete. Header names are lower case; the last of a name
    counts.
    """

    status: int = 0
    headers: dict[str, str] = field(factory=dict)
    chunks: list[bytes] = field(factory=list)
    ended: bool = False

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    def json(self) -> object:
        """Return the body as JSON. Raises ValueError, also for what only Python's parser reads."""
        return parse_json(self.body)


async def ask(
    app: App,
    method: str,
    target: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | Iterable[bytes] = b"",
    http_version: str = "1.1",
    extensions: Mapping[str, object] | None = None,
) -> Answer:
    """Send a request to an app and return the response. The client stays until the app returns.

    target: path and query. headers: `host` is `HOST` unless given. body: bytes, or the pieces in
    which they arrive.
    extensions: of the scope, such as the plane's {"trio_kafka": {"authorized": True}}.
    Raises IncompleteAnswerError, and whatever the app raises.
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
            header_pairs = message.get("headers", ())
            answer.headers = {name.decode(): value.decode() for name, value in header_pairs}
        elif message["type"] == "http.response.body":
            answer.chunks.append(bytes(message.get("body", b"")))
            answer.ended = not message.get("more_body", False)

    scope = _scope(method, target, headers or {}, http_version=http_version)
    scope["extensions"] = dict(extensions or {})
    await app(scope, receive, send)
    if not answer.ended:
        raise IncompleteAnswerError(
            f"{method} {target}: the app returned before the response ended: {answer}"
        )
    return answer


def _scope(method: str, target: str, headers: Mapping[str, str], *, http_version: str) -> Message:
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
