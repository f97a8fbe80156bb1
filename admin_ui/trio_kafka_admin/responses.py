"""Answers of the app: pages in pieces, static files, errors."""

from collections.abc import Iterable
from typing import Final

import trio

from trio_kafka.plugin_host.mounts import Scope, Send
from trio_kafka_admin.layout import sentence
from trio_kafka_admin.markup import Html
from trio_kafka_admin.page import Place
from trio_kafka_admin.static_files import StaticFile
from trio_kafka_http.asgi_json import send_json

Headers = Iterable[tuple[bytes, bytes]]
_A_STEP: Final = 8  # pieces of a page between two checkpoints: below 1 ms
_A_MESSAGE: Final = 16 << 10  # characters
_POLICY: Final = (
    b"default-src 'none'",
    b"script-src 'self'",
    b"style-src 'self'",
    b"img-src 'self'",
    b"connect-src 'self'",
    b"form-action 'self'",
    b"base-uri 'none'",
    b"frame-ancestors 'none'",
)
# Pages run no inline script, load nothing from other origins and cannot be framed.
GUARDS: Final = (
    (b"content-security-policy", b"; ".join(_POLICY)),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
)
_OF_A_PAGE: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    *GUARDS,
)


def is_head(scope: Scope) -> bool:
    """Return True for HEAD, whose answer has no body."""
    return bool(scope["method"] == "HEAD")


async def send_page(scope: Scope, send: Send, *, begun: Html, pieces: Iterable[Html]) -> None:
    """Send a page: its head, then pieces that are rendered while other tasks run."""
    await send({"type": "http.response.start", "status": 200, "headers": [*_OF_A_PAGE]})
    if is_head(scope):
        await send({"type": "http.response.body", "body": b""})
        return
    waiting, size = [begun], len(begun)
    for number, piece in enumerate(pieces, 1):
        waiting.append(piece)
        size += len(piece)
        if size >= _A_MESSAGE:
            body = "".join(waiting).encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
            waiting, size = [], 0
        elif not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    await send({"type": "http.response.body", "body": "".join(waiting).encode()})


async def send_static(scope: Scope, send: Send, file: StaticFile) -> None:
    """Send a file, or 304 if the browser has it (RFC 9110 §13.1.2)."""
    cached = dict(scope["headers"]).get(b"if-none-match", b"")
    status = 304 if file.etag in cached or cached == b"*" else 200
    headers = [
        (b"content-type", file.content_type),
        (b"cache-control", b"no-cache"),
        (b"etag", file.etag),
        *GUARDS,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = file.content if status == 200 and not is_head(scope) else b""
    await send({"type": "http.response.body", "body": body})


async def send_refusal(
    scope: Scope, send: Send, *, place: Place, status: int, message: str
) -> None:
    """Send an error: as JSON below `api`, as a page elsewhere."""
    more = {405: [(b"allow", b"GET, HEAD")], 503: [(b"retry-after", b"1")]}.get(status, [])
    if f"{scope['path']}/".startswith(f"{place.root}/api/"):
        body = {"error_code": status, "message": message}
        headers = (*GUARDS, *more)
        await send_json(send, status, body, headers=headers, head_only=is_head(scope))
        return
    page = sentence(str(status), message, place).encode()
    headers_of_page = [*_OF_A_PAGE, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers_of_page})
    await send({"type": "http.response.body", "body": b"" if is_head(scope) else page})
