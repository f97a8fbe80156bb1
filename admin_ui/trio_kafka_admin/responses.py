"""Answers of the app: renderings, static files, errors."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import trio

from trio_kafka.plugin_host.mounts import Scope, Send
from trio_kafka_admin.compressed_body import CompressedBody, accepts_gzip
from trio_kafka_admin.layout import sentence
from trio_kafka_admin.page import Place
from trio_kafka_admin.static_files import StaticFile
from trio_kafka_http.asgi_json import send_json
from trio_kafka_http.login_page import OWN_WINDOW

Headers = Iterable[tuple[bytes, bytes]]
Form = Literal["html", "json"]
"""Form of a page."""
PIECES_PER_TURN: Final = 16  # pieces of a page between two checkpoints: below 2 ms
_CONTENT_TYPES: Final[Mapping[Form, bytes]] = {
    "html": b"text/html; charset=utf-8",
    "json": b"application/json",
}
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
    *OWN_WINDOW,
    (b"referrer-policy", b"same-origin"),
)
_OF_A_PAGE: Final = (
    (b"content-type", _CONTENT_TYPES["html"]),
    (b"cache-control", b"no-store"),
    *GUARDS,
)


def is_head(scope: Scope) -> bool:
    """Return True for HEAD, whose answer has no body."""
    return bool(scope["method"] == "HEAD")


async def send_body(scope: Scope, send: Send, body: CompressedBody, form: Form) -> None:
    """Send a rendering as the client accepts it: with gzip or without."""
    is_gzip = accepts_gzip(dict(scope["headers"]).get(b"accept-encoding", b""))
    size = body.compressed_size if is_gzip else body.size
    headers = [
        (b"content-type", _CONTENT_TYPES[form]),
        (b"content-length", str(size).encode()),
        (b"cache-control", b"no-store"),
        (b"vary", b"accept-encoding"),
        *([(b"content-encoding", b"gzip")] if is_gzip else ()),
        *GUARDS,
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    last = b""
    if not is_head(scope):
        for chunk in body.chunks if is_gzip else body.decompressed():
            if last:
                await send({"type": "http.response.body", "body": last, "more_body": True})
                await trio.lowlevel.checkpoint()
            last = chunk
    await send({"type": "http.response.body", "body": last})


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
