"""The ASGI app: pages, as HTML and as JSON, and static files. Read-only: GET and HEAD.

`<path>` and `<path>/<page>` are pages; `<path>/api/<page>` is the same content as JSON.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import PluginContext, RefusedError
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka.plugin_host.pages import AdminPage
from trio_kafka.security.principal import Principal
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.layout import foot, head
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.page_registry import PageRegistry
from trio_kafka_admin.query import Query
from trio_kafka_admin.responses import (
    GUARDS,
    is_head,
    send_page,
    send_refusal,
    send_static,
)
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.static_files import StaticFile, read_static_files
from trio_kafka_http.asgi_json import HttpError, InFlight, principal_of, send_json

_STATUS: Final = {
    ErrorCode.RESOURCE_NOT_FOUND: 404,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
}


def prepare() -> Callable[[PluginContext[AdminSettings]], "AdminApp"]:
    """Return a function that creates the app. Reads files: call it in a thread."""
    return partial(AdminApp, static=read_static_files())


class AdminApp:
    """ASGI app of the admin UI. The HTTP plane checks host names, tokens and deadlines first."""

    def __init__(
        self,
        context: PluginContext[AdminSettings],
        static: Mapping[str, StaticFile],
    ) -> None:
        self._settings = context.settings
        self._context = context
        self._readers: dict[Principal, BrokerReader] = {}
        self._registry = PageRegistry(context.pages, context.world.run_in_thread, context.name)
        self._static = static
        self._in_flight = InFlight(context.settings.max_requests)
        context.node.add("admin-requests", "channel", self._in_flight.figures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or send a refusal."""
        del receive
        if self._in_flight.full:
            await send_refusal(
                scope,
                send,
                place=self._place(scope),
                status=503,
                message="too many requests at once",
            )
            return
        with self._in_flight:
            await self._serve(scope, send)

    async def _serve(self, scope: Scope, send: Send) -> None:
        place = self._place(scope)
        try:
            await self._route(scope, send, place)
        except HttpError as error:
            await send_refusal(scope, send, place=place, status=error.status, message=str(error))
        except KafkaError as error:
            status = _STATUS.get(error.code, 503)
            await send_refusal(
                scope, send, place=place, status=status, message=error.message or error.code.name
            )
        except RefusedError as error:
            await send_refusal(scope, send, place=place, status=503, message=str(error))

    async def _route(self, scope: Scope, send: Send, place: Place) -> None:
        """Serve a page, its JSON or a file. Raises HttpError only before the answer begins."""
        if scope["method"] not in ("GET", "HEAD"):
            raise HttpError(405, "the admin UI is read-only: use GET or HEAD")
        names = scope["path"].removeprefix(place.root).strip("/").split("/")
        match names:
            case ["static", name] if name in self._static:
                await send_static(scope, send, self._static[name])
            case ["api"]:
                await self._send_data(scope, send, await self._index(place))
            case ["api", name] if entry := await self._registry.find(name):
                query = Query(scope["query_string"])
                await self._send_data(
                    scope, send, await self._registry.read(entry, self._reader(scope), query)
                )
            case [name] if entry := await self._registry.find(name or await self._first()):
                await self._show(entry, scope, send, place=place)
            case _:
                raise HttpError(404, "nothing is here")

    def _reader(self, scope: Scope) -> BrokerReader:
        """Return the reader of the request's principal; the HTTP plane knows two at most."""
        principal = principal_of(scope)
        if principal not in self._readers:
            self._readers[principal] = BrokerReader(self._context, principal)
        return self._readers[principal]

    async def _first(self) -> str:
        """Return the name of the page at the root."""
        return (await self._registry.listed())[0].name

    async def _index(self, place: Place) -> dict[str, object]:
        """List the pages and their addresses."""
        pages = [
            {"title": page.title, "about": page.about, "path": place.address(f"api/{page.name}")}
            for page in await self._registry.listed()
        ]
        return {"pages": pages}

    async def _send_data(self, scope: Scope, send: Send, data: Data) -> None:
        await send_json(send, 200, data, headers=GUARDS, head_only=is_head(scope))

    async def _show(self, entry: AdminPage, scope: Scope, send: Send, *, place: Place) -> None:
        query = Query(scope["query_string"])
        data = await self._registry.read(entry, self._reader(scope), query)
        pieces = await self._registry.show(entry, data, place)
        begun = head(
            entry.page,
            await self._registry.listed(),
            place,
            query=scope["query_string"].decode(),
            refresh_ms=self._settings.refresh_ms,
            controls=self._registry.ask(entry, query, place),
        )
        await send_page(scope, send, begun=begun, pieces=chain(pieces, [foot()]))

    def _place(self, scope: Scope) -> Place:
        return Place(scope.get("root_path", "") or self._settings.path)
