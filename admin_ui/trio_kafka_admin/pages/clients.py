"""The page of clients: by client id, and one client or connection with all that is known of it."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import trio

from trio_kafka.protocol.messages.k10010_describe_requests import LATEST
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import name_link, named, sizes, span, spans
from trio_kafka_admin.client_rows import (
    ClientsAnswer,
    client_row,
    connection_row,
    in_flight_rows,
    recent_rows,
    topic_uses,
)
from trio_kafka_admin.described_page import DescribedPage, rows_of
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.paging import LAST, further_rows
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Column, Row, figures, shown, table, words
from trio_kafka_http.asgi_json import HttpError

_ROWS: Final = 100  # without ?limit=
_A_STEP: Final = 32  # rows made between two checkpoints
_REQUESTS: Final = 100  # of one client, in flight and latest each
_GROUPS: Final = 8  # of one client, whose assignments are read
_NAMED: Final = 3  # groups of a client that the list names


async def read(reader: BrokerReader, query: Query) -> Data:
    most = query.limit(min(_ROWS, reader.max_rows))
    name = query.text("name")
    if name:
        detail = await _detail(name, reader, most)
        return {
            "total": 1,
            "first": 0,
            "of": "",
            "clients": [],
            "closed": [],
            "client": detail,
        }
    first = query.number("first", 0, low=0, high=LAST)
    page = await reader.client_page(of=query.text("of"), first=first, most=most)
    rows = list[dict[str, Any]]()
    for place, client in enumerate(page.clients, 1):
        rows.append(client_row(client, reader.traffic))
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {
        "total": page.total,
        "first": first,
        "of": query.text("of"),
        "clients": rows,
        "closed": await rows_of(page.closed),
        "client": None,
    }


async def _detail(name: str, reader: BrokerReader, most: int) -> dict[str, Any]:
    details = await reader.client(name, most=most)
    if not (details.connections or details.closed or details.groups):
        raise HttpError(404, "no client and no connection of this name is known")
    reader.mutes.note([facts for facts, _ in details.connections])
    connections = list[dict[str, Any]]()
    for place, (facts, requests) in enumerate(details.connections, 1):
        connections.append(connection_row(facts, requests, reader.traffic))
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    client_ids = {facts.client_id for facts, _ in details.connections} or {name}
    client_id = next(iter(client_ids)) if len(client_ids) == 1 else name
    in_flight = await reader.requests_in_flight(client_id=client_id, most=_REQUESTS)
    latest = await reader.requests(LATEST, keys=(), client_id=client_id, most=_REQUESTS)
    groups = [
        group
        for group_id in details.groups[:_GROUPS]
        for group in await reader.groups(only=group_id)
    ]
    return {
        "name": name,
        "connections": connections,
        "in_flight": await rows_of(in_flight_rows(in_flight)),
        "recent": await rows_of(recent_rows(latest.requests)),
        "topics": await rows_of(topic_uses(client_ids, in_flight, groups)),
        "groups": list(details.groups),
        "pauses": await rows_of(reader.mutes.rows(name)),
        "closed": await rows_of(details.closed),
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    if data["client"] is not None:
        yield from _show_one(data["client"], place)
    else:
        yield from _show_list(data, place)


# The list


def _show_list(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        Column(
            head="client",
            show=lambda row: _client(row["client_id"], place),
            sort=lambda row: row["client_id"],
        ),
        _texts("software", "software"),
        _texts("hosts", "from"),
        figures("connections", "connections"),
        figures("requests_per_s", "requests/s", digits=1),
        figures("requests", "requests", about="of the open connections"),
        figures("in_flight", "in flight"),
        figures("muted", "not read", about="connections, other than for a request in flight"),
        figures("unsent_bytes", "unsent bytes", about="of answers that it has not read"),
        Column(head="groups", show=lambda row: _groups(row["groups"], place)),
    )
    key, empty = itemgetter("client_id"), "No client is connected."
    yield from table("clients", columns, data["clients"], key=key, empty=empty)
    yield from further_rows(data, "clients", place)
    yield from _closed(data["closed"], place)


def _client(client_id: str, place: Place) -> Html:
    return name_link(client_id, "clients", place) if client_id else text("without an id")


def _texts(key: str, head: str) -> Column:
    return Column(head=head, show=lambda row: shown(", ".join(row[key])))


def _groups(groups: list[str], place: Place) -> Html:
    if not groups:
        return DASH
    links = [name_link(group, "groups", place) for group in groups[:_NAMED]]
    more = len(groups) - _NAMED
    parts = [*links, text(f"{more} more")] if more > 0 else links
    return join([part for link in parts for part in (text(", "), link)][1:])


def _closed(rows: list[Row], place: Place) -> Iterator[Html]:
    columns = (
        spans("ago_s", "ago"),
        Column(head="client", show=lambda row: _client(row["client_id"], place)),
        words("software", "software"),
        words("host", "from"),
        words("listener", "listener"),
        words("reason", "reason"),
        words("detail", "detail"),
        spans("age_s", "was open"),
        figures("requests", "requests"),
    )
    yield tag("h2", text("Closed last"))
    empty = "No connection has been closed."
    yield from table("closed", columns, rows, key=itemgetter("id"), empty=empty)


# One client


def _show_one(client: Mapping[str, Any], place: Place) -> Iterator[Html]:
    yield tag("h2", text(f"Client {client['name'][:200]}"))
    key, empty = itemgetter("id"), "No connection is open."
    yield from table("connections", _CONNECTIONS, client["connections"], key=key, empty=empty)
    yield tag("h2", text("Reads and writes"))
    yield tag("p", text("As far as it is known from requests in flight and from groups."))
    of_use, empty = itemgetter("topic", "how"), "Nothing is known at the moment."
    yield from table("uses", _uses(place), client["topics"], key=of_use, empty=empty)
    yield tag("h2", text("Groups"))
    groups = client["groups"]
    links = (tag("li", name_link(group, "groups", place)) for group in groups)
    yield tag("ul", *links) if groups else tag("p", text("It is in no group."), class_="empty")
    yield tag("h2", text("Requests in flight"))
    of_request, empty = itemgetter("connection", "api", "age_s"), "None."
    yield from table("in-flight", _IN_FLIGHT, client["in_flight"], key=of_request, empty=empty)
    yield tag("h2", text("Latest requests"))
    of_api, empty = itemgetter("api"), "None is known."
    yield from table("recent", _RECENT, client["recent"], key=of_api, empty=empty)
    yield tag("h2", text("Not read from"))
    yield tag("p", text("Pauses that were seen while this page was looked at."))
    of_pause, empty = itemgetter("connection", "cause", "began_s"), "None was seen."
    yield from table("pauses", _PAUSES, client["pauses"], key=of_pause, empty=empty)
    yield from _closed(client["closed"], place)


_CONNECTIONS: Final = (
    words("id", "connection", "local address, address of the client, number"),
    words("client_id", "client id"),
    words("software", "software"),
    words("listener", "listener"),
    words("processor", "processor"),
    words("principal", "principal"),
    spans("age_s", "open for"),
    spans("idle_s", "idle"),
    figures("requests", "requests"),
    figures("requests_per_s", "requests/s", digits=1),
    figures("in_flight", "in flight"),
    sizes("received_bytes", "received"),
    sizes("sent_bytes", "sent"),
    sizes("unsent_bytes", "unsent"),
    words("not_read", "not read from", "why the broker does not read from it now"),
)
_IN_FLIGHT: Final = (
    words("api", "API"),
    words("connection", "connection"),
    spans("age_s", "age"),
    words("stage", "stage"),
    words("waits_for", "waits for"),
)
_RECENT: Final = (
    words("api", "API"),
    figures("requests", "requests", about="among the latest ones that the broker remembers"),
    spans("ago_s", "last", "time since the last one ended"),
)
_PAUSES: Final = (
    words("connection", "connection"),
    Column(head="began", show=lambda row: text(f"{span(row['began_s'])} ago")),
    spans("lasted_s", "lasted"),
    words("words", "waited for"),
)


def _uses(place: Place) -> tuple[Column, ...]:
    return named("topic", "topic", "topics", place), words("how", "how")


def ask(query: Query, place: Place) -> Html:
    """Render the search field, and the way back from one client."""
    if query.text("name"):
        return tag("p", place.link("all clients", "clients"))
    return tag(
        "form",
        begin("input", name="of", placeholder="part of a client id", value=query.text("of")),
        tag("button", text("show")),
        action=place.address("clients"),
    )


PAGE = DescribedPage(
    name="clients",
    title="Clients",
    order=26,
    about="Connected clients by their ids, the most troubled first, and connections closed lately.",
    read=read,
    show=show,
    ask=ask,
    answer=ClientsAnswer,
    parameters={
        "name": "one client, by its id, or one connection, by its id",
        "of": "clients whose id contains this text",
        "first": "number of clients to skip",
        "limit": "most clients, or most connections of one client",
    },
)
