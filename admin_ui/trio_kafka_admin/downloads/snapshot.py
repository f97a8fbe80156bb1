"""Download of a snapshot: all pages as one HTML file, which opens without a broker.

It holds what the pages hold: no contents of records and no secrets. It runs no script and loads
nothing. With `anonymous=1` names are replaced, see `anonymizing`, and pages of free text are left
out.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.plugin import RefusedError
from trio_kafka.plugin_host.pages import AdminPage
from trio_kafka_admin.compressed_body import CompressedBody, compress
from trio_kafka_admin.downloads.anonymizing import Pseudonyms, pseudonyms
from trio_kafka_admin.downloads.download import Download, Source
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.responses import PIECES_PER_TURN
from trio_kafka_http.asgi_json import HttpError

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_FREE_TEXT: Final = frozenset({"log", "settings"})
"""Pages whose texts may hold names that the broker does not know as names."""
_LIMIT: Final = b"limit=500"


@frozen
class _Anchors(Place):
    """Links lead to the section of the page in the same file, or to its top. pages: names."""

    pages: frozenset[str] = frozenset()

    def address(self, page: str, **query: str | int) -> str:
        del query
        return f"#page-{page}" if page in self.pages else "#"


async def _make(source: Source) -> CompressedBody:
    is_anonymous = source.query.one_of("anonymous", ("0", "1")) == "1"
    names = await pseudonyms(source.reader.context.parts) if is_anonymous else None
    pages = [
        page
        for page in await source.registry.listed()
        if not (is_anonymous and page.name in _FREE_TEXT)
    ]
    place = _Anchors("", frozenset(page.name for page in pages))
    pieces = [_head(source, pages)]
    for page in pages:
        entry = await source.registry.find(page.name)
        if entry is not None:
            pieces += await _section(source, entry, names, place)
    pieces.append(Html("</body></html>"))
    return await compress((piece.encode() for piece in pieces), most=PIECES_PER_TURN)


async def _section(
    source: Source, entry: AdminPage, names: Pseudonyms | None, place: Place
) -> list[Html]:
    """Render a page; one that fails becomes its error, and the others are complete."""
    page: Page = entry.page
    head = [begin("section", id=f"page-{page.name}"), tag("h2", text(page.title))]
    try:
        data: Data = await source.registry.read(entry, source.reader, Query(_LIMIT))
        if names is not None:
            data = await names.replaced(data)
        shown = await _pieces(await source.registry.show(entry, data, place))
    except (HttpError, KafkaError, RefusedError) as error:
        shown = [tag("p", text(error), class_="bad")]
    return [*head, tag("p", text(page.about), class_="about"), *shown, Html("</section>")]


async def _pieces(pieces: Iterator[Html]) -> list[Html]:
    rendered = list[Html]()
    for number, piece in enumerate(pieces, 1):
        rendered.append(piece)
        if not number % PIECES_PER_TURN:
            await trio.lowlevel.checkpoint()
    return rendered


def _time(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(sep=" ", timespec="seconds")


def _head(source: Source, pages: list[Page]) -> Html:
    wall = source.reader.context.world.clock.wall()
    styles = [
        Html(file.content.decode())
        for name, file in sorted(source.static.items())
        if name.endswith(".css")
    ]
    links = [tag("a", text(page.title), href=f"#page-{page.name}") for page in pages]
    title = f"trio-kafka, snapshot of {_time(wall)}"
    head = tag(
        "head",
        begin("meta", charset="utf-8"),
        begin("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        begin("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", text(title)),
        *[tag("style", style) for style in styles],
    )
    return join(
        [
            Html('<!doctype html><html lang="en">'),
            head,
            Html("<body>"),
            tag("header", tag("strong", text(title)), tag("nav", *links)),
        ]
    )


SNAPSHOT: Final = Download(
    name="snapshot",
    file_name="trio-kafka-snapshot.html",
    content_type="text/html; charset=utf-8",
    make=_make,
)
