"""The ASGI app: pages, their JSON twins, and static files. It only looks: GET and HEAD.

`<path>` and `<path>/<page>` are pages, `<path>/api/<page>` is what the page shows, as JSON.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.hosting.mounts import Receive, Scope, Send
from trio_kafka.plugin import Figure, PluginContext, RefusedError
from trio_kafka_admin.asker import Asker
from trio_kafka_admin.discovery import all_pages
from trio_kafka_admin.layout import foot, head, sentence
from trio_kafka_admin.markup import NOTHING, Html
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.plugin import AdminSettings
from trio_kafka_admin.query import Query
from trio_kafka_admin.static_files import StaticFile, read_static_files
from trio_kafka_builtin.answers import HttpError, send_json

_A_STEP: Final = 8  # pieces of a page between two checkpoints: below 1 ms
_A_MESSAGE: Final = 16 << 10  # characters
_HTML: Final = (b"content-type", b"text/html; charset=utf-8")
# Pages run no script and load nothing that is not ours, and no other page shows them in a frame.
_GUARDS: Final = (
    (
        b"content-security-policy",
        b"; ".join(
            (
                b"default-src 'none'",
                b"script-src 'self'",
                b"style-src 'self'",
                b"img-src 'self'",
                b"connect-src 'self'",
                b"form-action 'self'",
                b"base-uri 'none'",
                b"frame-ancestors 'none'",
            )
        ),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
)
_LIVE: Final = (b"cache-control", b"no-store")
_STATUS: Final = {
    ErrorCode.RESOURCE_NOT_FOUND: 404,
    ErrorCode.INVALID_REQUEST: 400,
}


def prepare() -> Callable[[PluginContext[AdminSettings]], "AdminApp"]:
    """What makes an app. It imports pages and reads files: for a thread."""
    return partial(AdminApp, pages=all_pages(), static=read_static_files())


class AdminApp:
    """One app; the plane in front of it sees to names, tokens and the deadline of a request."""

    def __init__(
        self,
        context: PluginContext[AdminSettings],
        pages: Sequence[Page],
        static: Mapping[str, StaticFile],
    ) -> None:
        self._settings = context.settings
        self._asker = Asker(context)
        self._pages = pages
        self._by_name = {page.name: page for page in pages}
        self._static = static
        self._in_hand = self._most = 0
        context.node.add("admin-requests", "channel", self._figures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        del receive
        if self._in_hand >= self._settings.max_requests:
            await _refuse(scope, send, 503, "too many requests at once", self._place(scope))
            return
        self._in_hand += 1
        self._most = max(self._most, self._in_hand)
        try:
            await self._serve(scope, send)
        finally:
            self._in_hand -= 1

    async def _serve(self, scope: Scope, send: Send) -> None:
        place = self._place(scope)
        try:
            await self._route(scope, send, place)
        except HttpError as error:
            await _refuse(scope, send, error.status, str(error), place)
        except KafkaError as error:
            status = _STATUS.get(error.code, 503)
            await _refuse(scope, send, status, error.message or error.code.name, place)
        except RefusedError as error:
            await _refuse(scope, send, 503, str(error), place)

    async def _route(self, scope: Scope, send: Send, place: Place) -> None:
        """Raises what is an answer, too, but not once it has begun."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HttpError(405, "the admin UI only looks: GET and HEAD")
        names = scope["path"].removeprefix(place.root).strip("/").split("/")
        match names:
            case [""]:
                await self._show(self._pages[0], scope, send, place)
            case ["api"]:
                await send_json(send, 200, self._index(place), head_only=_is_head(scope))
            case ["api", name] if name in self._by_name:
                data = await self._read(self._by_name[name], scope)
                await send_json(send, 200, data, headers=_GUARDS, head_only=_is_head(scope))
            case ["static", name] if name in self._static:
                await _send_static(self._static[name], scope, send)
            case [name] if name in self._by_name:
                await self._show(self._by_name[name], scope, send, place)
            case _:
                raise HttpError(404, "nothing is here")

    def _index(self, place: Place) -> dict[str, Any]:
        """What there is to ask for."""
        pages = [
            {"title": page.title, "about": page.about, "path": place.address(f"api/{page.name}")}
            for page in self._pages
        ]
        return {"pages": pages}

    async def _read(self, page: Page, scope: Scope) -> Data:
        return await page.read(self._asker, Query(scope["query_string"]))

    async def _show(self, page: Page, scope: Scope, send: Send, place: Place) -> None:
        query = Query(scope["query_string"])
        data = await page.read(self._asker, query)
        begun = head(
            page,
            self._pages,
            place,
            query=scope["query_string"].decode(),
            refresh_ms=self._settings.refresh_ms,
            asked=page.ask(query, place) if page.ask is not None else NOTHING,
        )
        await _begin(send, 200)
        if _is_head(scope):
            await send({"type": "http.response.body", "body": b""})
            return
        await _send_pieces(send, begun, page.show(data, place), foot())

    def _place(self, scope: Scope) -> Place:
        return Place(scope.get("root_path", "") or self._settings.path)

    def _figures(self) -> dict[str, Figure]:
        return {
            "depth": self._in_hand,
            "bound": self._settings.max_requests,
            "high_water": self._most,
        }


async def _send_pieces(send: Send, begun: Html, pieces: Iterable[Html], end: Html) -> None:
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
    body = "".join([*waiting, end]).encode()
    await send({"type": "http.response.body", "body": body})


async def _send_static(file: StaticFile, scope: Scope, send: Send) -> None:
    known = dict(scope["headers"]).get(b"if-none-match", b"")
    fresh = file.etag in known
    headers = [
        (b"etag", file.etag),
        (b"cache-control", b"no-cache"),
        (b"content-type", file.content_type),
        *_GUARDS,
    ]
    status = 304 if fresh else 200
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if fresh or _is_head(scope) else file.content
    await send({"type": "http.response.body", "body": body})


async def _refuse(scope: Scope, send: Send, status: int, message: str, place: Place) -> None:
    more: list[tuple[bytes, bytes]] = []
    if status == 405:
        more.append((b"allow", b"GET, HEAD"))
    if status == 503:
        more.append((b"retry-after", b"1"))
    if f"{scope['path']}/".startswith(f"{place.root}/api/"):
        body: dict[str, Any] = {"error_code": status, "message": message}
        headers = (*_GUARDS, *more)
        await send_json(send, status, body, headers=headers, head_only=_is_head(scope))
        return
    await _begin(send, status, more)
    page = sentence(f"{status}", message, place)
    body_ = b"" if _is_head(scope) else page.encode()
    await send({"type": "http.response.body", "body": body_})


async def _begin(send: Send, status: int, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    headers = [_HTML, _LIVE, *_GUARDS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _is_head(scope: Scope) -> bool:
    return bool(scope["method"] == "HEAD")
