"""The ASGI app: pages, as HTML and as JSON, and static files. Read-only: GET and HEAD.

`<path>` and `<path>/<page>` are pages; `<path>/api/<page>` is the same content as JSON, which
`<path>/api/openapi.json` describes; `<path>/download/<name>` are files to keep, and below `api`
with refusals as JSON.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log_tail import LogTail
from trio_kafka.plugin import PluginContext, RefusedError
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka.plugin_host.pages import AdminPage
from trio_kafka_admin.account import Viewer, viewer_of
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.compressed_body import CompressedBody, compress
from trio_kafka_admin.downloads import DOWNLOADS
from trio_kafka_admin.downloads.download import Download, Source, send_download
from trio_kafka_admin.layout import foot, head
from trio_kafka_admin.markup import Html, join
from trio_kafka_admin.openapi import DOCUMENT, openapi_document
from trio_kafka_admin.own_nodes import REQUESTS
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.page_registry import PageRegistry
from trio_kafka_admin.query import Query
from trio_kafka_admin.readers import Readers
from trio_kafka_admin.renderings import Renderings
from trio_kafka_admin.responses import (
    GUARDS,
    PIECES_PER_TURN,
    Form,
    is_head,
    send_body,
    send_refusal,
    send_static,
)
from trio_kafka_admin.rewind_slider import AGO, slider
from trio_kafka_admin.rewinding import KEPT_S
from trio_kafka_admin.settings import AdminSettings
from trio_kafka_admin.static_files import StaticFile, read_static_files
from trio_kafka_admin.tree_snapshots import FRESH_S
from trio_kafka_http.asgi_json import (
    HttpError,
    InFlight,
    json_pieces,
    principal_of,
    send_json,
)

_STATUS: Final = {
    ErrorCode.RESOURCE_NOT_FOUND: 404,
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: 403,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: 403,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: 403,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 403,
}


def prepare() -> Callable[[PluginContext[AdminSettings], LogTail], "AdminApp"]:
    """Return a function that creates the app. Reads files: call it in a thread."""
    return partial(AdminApp, static=read_static_files())


class AdminApp:
    """ASGI app of the admin UI. The HTTP plane checks host names, tokens and deadlines first."""

    def __init__(
        self,
        context: PluginContext[AdminSettings],
        log_tail: LogTail | None = None,
        *,
        static: Mapping[str, StaticFile],
    ) -> None:
        """log_tail: the last events of the log, for its page; None: none are kept."""
        self._settings = context.settings
        self._context = context
        self._readers = Readers(partial(BrokerReader, context, log_tail=log_tail))
        self._registry = PageRegistry(context.pages, context.world.run_in_thread, context.name)
        self._static = static
        self._recording = trio.Lock()
        in_flight = InFlight(context.settings.max_requests)
        refresh_s = context.settings.refresh_ms / 1e3
        tick_s = min(refresh_s, FRESH_S) if refresh_s else FRESH_S
        self._renderings = Renderings[CompressedBody](in_flight, tick_s)
        context.node.add(REQUESTS, "channel", in_flight.figures)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or send a refusal."""
        del receive
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
                data = await self._index(place)
                await send_json(send, 200, data, headers=GUARDS, head_only=is_head(scope))
            case ["api", name] if name == DOCUMENT:
                data = openapi_document(await self._registry.listed(), place)
                await send_json(send, 200, data, headers=GUARDS, head_only=is_head(scope))
            case ["api", name] if entry := await self._registry.find(name):
                await self._send_shared(entry, "json", scope, send)
            case ["download", name] | ["api", "download", name] if name in DOWNLOADS:
                await self._send_download(DOWNLOADS[name], scope, send)
            case [name] if entry := await self._registry.find(name or await self._first()):
                await self._send_shared(entry, "html", scope, send)
            case _:
                raise HttpError(404, "nothing is here")

    async def _send_shared(self, entry: AdminPage, form: Form, scope: Scope, send: Send) -> None:
        """Send the rendering of a page that all its viewers share."""
        reader, place, query = (
            self._readers.of(principal_of(scope)),
            self._place(scope),
            scope["query_string"],
        )
        if form == "json":
            render = partial(self._render_data, entry, reader, query)
        else:
            render = partial(self._render_page, entry, reader, query, place, viewer_of(scope))
        # A reload replaces pages, and the links on all of them.
        page = (form, place, entry.name, query, viewer_of(scope))
        key = (self._context.pages.generation, reader, page)
        await send_body(scope, send, await self._renderings.get(key, render), form)

    async def _send_download(self, download: Download, scope: Scope, send: Send) -> None:
        """Make and send a file; viewers that ask for it meanwhile get the same file.

        HEAD makes none: a trace takes its seconds, and costs all tasks.
        """
        if is_head(scope):
            await send_download(scope, send, download, None)
            return
        reader, query = self._readers.of(principal_of(scope)), scope["query_string"]
        source = Source(
            reader=reader,
            query=Query(query),
            registry=self._registry,
            static=self._static,
            recording=self._recording,
        )
        key = (self._context.pages.generation, reader, "download", download.name, query)
        make = partial(download.make, source)
        body = await self._renderings.get(key, make, is_kept=False)
        await send_download(scope, send, download, body)

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

    async def _render_data(
        self, entry: AdminPage, reader: BrokerReader, query: bytes
    ) -> CompressedBody:
        """Render the data of a page as JSON."""
        data, _ = await self._read(entry, reader, Query(query))
        return await compress(json_pieces(data))

    async def _read(
        self, entry: AdminPage, reader: BrokerReader, query: Query
    ) -> tuple[Data, float]:
        """Return the data of a page, and their age in seconds; 0: they are of now."""
        if not entry.page.is_kept:
            return await self._registry.read(entry, reader, query), 0.0
        past = reader.past(entry.name)
        ago_s = query.number(AGO, 0, low=0, high=int(KEPT_S))
        if ago_s:
            return await past.at(ago_s)
        data = await self._registry.read(entry, reader, query)
        await past.keep(data)
        return data, 0.0

    async def _render_page(
        self,
        entry: AdminPage,
        reader: BrokerReader,
        query: bytes,
        place: Place,
        viewer: Viewer,
    ) -> CompressedBody:
        """Render a page as HTML."""
        parsed = Query(query)
        data, ago_s = await self._read(entry, reader, parsed)
        pieces = await self._registry.show(entry, data, place)
        begun = head(
            entry.page,
            await self._registry.listed(),
            place,
            query=query.decode(errors="replace"),
            refresh_ms=0 if ago_s else self._settings.refresh_ms,
            run=self._run(),
            broker=f"broker {self._context.parts.node_id}",
            viewer=viewer,
            controls=self._controls(entry, reader, parsed, place, ago_s=ago_s),
        )
        page = chain([begun], pieces, [foot()])
        return await compress((piece.encode() for piece in page), most=PIECES_PER_TURN)

    def _controls(
        self, entry: AdminPage, reader: BrokerReader, query: Query, place: Place, *, ago_s: float
    ) -> Html:
        """Render what stands above the content."""
        controls = self._registry.ask(entry, query, place)
        if not entry.page.is_kept:
            return controls
        oldest_s = reader.past(entry.name).oldest_s
        return join([controls, slider(entry.name, place, ago_s=ago_s, oldest_s=oldest_s)])

    def _run(self) -> str:
        """Return the id of this run of the broker; empty before its registration."""
        parts = self._context.parts
        registered = parts.metadata.image.brokers.get(parts.node_id)
        return "" if registered is None else registered.incarnation_id.hex()

    def _place(self, scope: Scope) -> Place:
        return Place(scope.get("root_path", "") or self._settings.path)
