"""The page of connections: clients, their software, traffic, and why a connection is muted."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.facts.connections import ConnectionFacts
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import named, sizes, spans
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import badge
from trio_kafka_admin.table import Column, Row, figures, table, words
from trio_kafka_admin.wait_markup import on_link, wait_data

_A_STEP: Final = 32  # rows between two checkpoints
_HTTP: Final = "plane http"
_REUSED: Final = 1000  # links that are the same in the next tick
_IN_FLIGHT: Final = badge("info", "a request is in flight")
_WAITS: Final = badge("idle", "waits for requests")
_KINDS: Final = ("plane", "listener", "connection")
_WORDS: Final = 200  # characters of a wait that a row shows
_LOOKED_AT: Final = ("peer", "listener", "plane")


async def read(reader: BrokerReader, query: Query) -> Data:
    most, search = query.limit(reader.max_rows), query.text("of")
    reading = await reader.search_connections(of=search, most=most)
    rows = list[dict[str, Any]]()
    for number, facts in enumerate(reading.rows, 1):
        rows.append(_row(facts))
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    others = await _of_http(reader, search.lower(), most)
    shown = [*rows, *others[: most - len(rows)]]
    total = reading.total + len(others)
    return {"truncated": len(shown) < total, "total": total, "connections": shown}


def _row(facts: ConnectionFacts) -> dict[str, Any]:
    return {
        "id": facts.id,
        "plane": facts.plane,
        "listener": facts.listener,
        "peer": facts.peer,
        "client_id": facts.client_id,
        "software": facts.software,
        "requests": facts.requests,
        "in_flight": facts.in_flight,
        "age_s": facts.age_s,
        "idle_s": facts.idle_s,
        "received_bytes": facts.received_bytes,
        "sent_bytes": facts.sent_bytes,
        "unsent_bytes": facts.unsent_bytes,
        "waits": [wait_data(wait) for wait in facts.waits],
    }


async def _of_http(reader: BrokerReader, search: str, most: int) -> Sequence[dict[str, Any]]:
    """Return rows of the connections of the HTTP plane, which are no Kafka clients."""
    try:
        reading = await reader.tree(path=_HTTP, kinds=_KINDS, most=most, counts=True)
    except KafkaError as error:
        if error.code is not ErrorCode.RESOURCE_NOT_FOUND:
            raise
        return []
    rows = [row for row in _http_rows(reading) if _has(row, search)]
    await trio.lowlevel.checkpoint()
    return rows


def _http_rows(reading: TreeReading) -> Iterator[dict[str, Any]]:
    listener = ""
    for node in reading.rows:
        if node.kind == "listener":
            listener = node.name
        elif node.kind == "connection":
            counts = dict(node.figures)
            yield {
                "id": "",
                "plane": "http",
                "listener": listener,
                "peer": node.name,
                "client_id": "",
                "software": "",
                "requests": counts.get("requests"),
                "in_flight": None,
                "age_s": counts.get("age_s"),
                "idle_s": None,
                "received_bytes": counts.get("received"),
                "sent_bytes": counts.get("sent"),
                "unsent_bytes": None,
                "waits": [],
            }


def _has(row: Row, search: str) -> bool:
    return any(search in str(row[key]).lower() for key in _LOOKED_AT)


def show(data: Data, place: Place) -> Iterator[Html]:
    rows = data["connections"]
    several = len({(row["plane"], row["listener"]) for row in rows}) > 1
    key, empty = itemgetter("id", "peer"), "No client is connected."
    yield from table("connections", _columns(place, several=several), rows, key=key, empty=empty)
    left_out = data["total"] - len(rows)
    if left_out:
        yield tag("p", text(f"{left_out} more: narrow the filter, or use ?limit="))


def _columns(place: Place, *, several: bool) -> Sequence[Column]:
    """Return the columns; those of listener and plane only if there are several.

    Unsent bytes are a wait for the client.
    """
    return (
        Column(head="peer", show=lambda row: _peer(row, place), sort=lambda row: row["peer"]),
        named("client_id", "client", "clients", place),
        words("software", "software"),
        *([words("listener", "listener"), words("plane", "plane")] if several else ()),
        figures("requests", "requests"),
        Column(head="state", show=lambda row: _state(row, place), about=_ABOUT, long=True),
        sizes("received_bytes", "received"),
        sizes("sent_bytes", "sent"),
        spans("age_s", "open for"),
        spans("idle_s", "idle", about="time since the client sent or took bytes"),
    )


_ABOUT: Final = "what the connection waits for: while it does, nothing is read from it"


def _peer(row: Row, place: Place) -> Html:
    return _peer_link(row["peer"], row["id"], place)


@lru_cache(_REUSED)
def _peer_link(peer: str, id_: str, place: Place) -> Html:
    """Return the address of a client, which leads to its page if the connection has an id."""
    return place.link(peer, "clients", name=id_) if id_ else text(peer)


def _state(row: Row, place: Place) -> Html:
    """Render what the connection waits for; a request under way is the usual reason."""
    waits = row["waits"]
    if not waits:
        if row["in_flight"]:
            return _IN_FLIGHT
        return _WAITS
    parts = [
        join([badge("info", wait["words"][:_WORDS]), text(" on "), on_link(wait, place)])
        for wait in waits
    ]
    return join(tag("div", part) for part in parts)


def ask(query: Query, place: Place) -> Html:
    """Render the search field for client id, software and peer."""
    value = query.text("of")
    return tag(
        "form",
        begin(
            "input",
            name="of",
            placeholder="client, software or address",
            aria_label="client, software or address",
            value=value,
        ),
        tag("button", text("show")),
        action=place.address("connections"),
    )


PAGE = Page(
    name="connections",
    title="Connections",
    order=36,
    about="Connected clients, their software and traffic, and what each connection waits for.",
    read=read,
    show=show,
    ask=ask,
)
