"""The page of requests: in flight with their stage and wait reason, the latest, the slowest."""

from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Final

import trio

from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.facts.requests import RequestFacts
from trio_kafka.introspect.snapshots import HOPS
from trio_kafka.protocol.messages.k10010_describe_requests import (
    IN_FLIGHT,
    LATEST,
    NOT_YET,
    SLOWEST,
    RequestLife,
)
from trio_kafka.protocol.schema import fields_of
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, join, place_text, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Column, Row, figures, number, shown, table, words
from trio_kafka_admin.wait_markup import amount, on_link, remaining, wait_data
from trio_kafka_http.asgi_json import HttpError

WHICH: Final = {"in-flight": IN_FLIGHT, "latest": LATEST, "slowest": SLOWEST}
_A_STEP: Final = 32  # requests between two checkpoints
_WIDTH: Final = 160  # of a bar, pixels
_FIELDS: Final = [field.name for field in fields_of(RequestLife)]
_ERRORS: Final = {int(code): code.name for code in ErrorCode}


async def read(reader: BrokerReader, query: Query) -> Data:
    which = query.one_of("which", tuple(WHICH))
    most = query.limit(reader.max_rows)
    keys, client = _keys_of(reader, query.text("api")), query.text("client") or None
    if WHICH[which] == IN_FLIGHT:
        return await _in_flight(reader, keys, client, most)
    answer = await reader.requests(WHICH[which], keys=keys, client_id=client, most=most)
    rows = []
    for at, life in enumerate(answer.requests, 1):
        rows.append(_row(life))
        if not at % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {"which": which, "truncated": answer.truncated, "requests": rows}


async def _in_flight(
    reader: BrokerReader, keys: list[int], client_id: str | None, most: int
) -> Data:
    requests = await reader.requests_in_flight(keys=keys, client_id=client_id, most=most + 1)
    rows = []
    for at, facts in enumerate(requests[:most], 1):
        rows.append(_facts_row(facts))
        if not at % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {"which": "in-flight", "truncated": len(requests) > most, "requests": rows}


def _facts_row(facts: RequestFacts) -> dict[str, object]:
    return {
        "plane": facts.plane,
        "api_name": facts.api,
        "api_version": facts.version,
        "client_id": facts.client_id,
        "software_name": facts.software,
        "software_version": "",
        "principal": facts.principal,
        "peer": facts.peer,
        "listener": facts.listener,
        "connection": facts.connection,
        "correlation_id": facts.correlation,
        "stage": facts.stage,
        "age_us": round(facts.age_s * 1e6),
        "request_bytes": facts.request_bytes,
        "hops_s": facts.hops_s,
        "waits_for": facts.why[0].words if facts.why else "",
        "why": [wait_data(wait) for wait in facts.why],
    }


def _keys_of(reader: BrokerReader, api: str) -> list[int]:
    """Return the keys for an API's name (in any case) or key. Raises HttpError."""
    if not api:
        return []
    names = reader.context.parts.apis.names
    keys = [key for key, name in names.items() if api.lower() in (name.lower(), str(key))]
    if not keys:
        raise HttpError(400, f"api={api[:40]!r}: no served API has that name or key")
    return keys


def _row(life: RequestLife) -> dict[str, object]:
    row = {name: getattr(life, name) for name in _FIELDS}
    row["error"] = _ERRORS.get(life.error_code, f"error {life.error_code}")
    return row


def show(data: Data, place: Place) -> Iterator[Html]:
    key: Callable[[Row], object]
    if data["which"] == "in-flight":
        columns = (_request_column(place), *_WHO[1:], *_in_flight_columns(place))
        empty, key = "No request is in flight.", itemgetter("peer", "connection", "correlation_id")
    else:
        columns, empty = (*_WHO, *_OVER), "No request has been served yet."
        key = itemgetter("peer", "number", "api_key", "correlation_id")
    yield from table(f"requests-{data['which']}", columns, data["requests"], key=key, empty=empty)
    if data["truncated"]:
        yield tag("p", text("There are more: filter by API or client, or use ?limit="))


def _software(row: Row) -> Html:
    return shown(f"{row['software_name']} {row['software_version']}".strip())


def _listener(row: Row) -> Html:
    plane = row["plane"]
    return text(row["listener"] if plane == "data" else f"{row['listener']} ({plane})")


def _ms(key: str, head: str, about: str = "") -> Column:
    """Format microseconds as ms; a dash for a hop that has not begun."""

    def milliseconds(row: Row) -> float | None:
        return None if row[key] == NOT_YET else row[key] / 1e3

    return Column(
        head=head,
        show=lambda row: number(milliseconds(row), 3),
        sort=milliseconds,
        number=True,
        about=about,
    )


def bar(row: Row) -> Html:
    """Render the time of a request as a bar: its hops in order, as shares of the total."""
    total = sum(max(row[f"{hop}_us"], 0) for hop in HOPS)
    parts, at, labels = [], 0.0, []
    for hop in HOPS:
        took = max(row[f"{hop}_us"], 0)
        if not took:
            continue
        width = _WIDTH * took / total
        part = begin("rect", class_=hop, x=f"{at:.1f}", y=0, width=f"{width:.1f}", height=10)
        parts.append(Html(f"{part}</rect>"))
        labels.append(f"{hop.replace('_', ' ')} {took / 1e3:.3f} ms")
        at += width
    title = tag("title", text(", ".join(labels)))
    return tag("svg", title, *parts, class_="hops", width=_WIDTH, height=10)


_WHO: Final = (
    words("api_name", "API"),
    figures("api_version", "v"),
    words("client_id", "client"),
    Column(head="software", show=_software),
    Column(head="peer", show=lambda row: place_text(row["peer"])),
    Column(head="listener", show=_listener),
)


def _request_column(place: Place) -> Column:
    """Return the column of the API's name, which links to the request."""

    def link(row: Row) -> Html:
        if row["connection"] is None:  # a request from within has no connection
            return text(row["api_name"])
        query = {"connection": row["connection"], "correlation": row["correlation_id"]}
        return place.link(row["api_name"], "request", **query)

    return Column(head="API", show=link, sort=lambda row: row["api_name"])


def _in_flight_columns(place: Place) -> tuple[Column, ...]:
    return (
        _ms("age_us", "age ms"),
        words("stage", "stage"),
        _of_wait("cause", lambda wait: text(wait["cause"])),
        words("waits_for", "waits for"),
        _of_wait("on", lambda wait: on_link(wait, place), last=True),
        _of_wait("has", amount),
        _of_wait("left", remaining),
        figures("request_bytes", "bytes in"),
    )


def _of_wait(head: str, show: Callable[[Row], Html], *, last: bool = False) -> Column:
    """Return a column about the first wait of a request, or about the last of its chain."""

    def cell(row: Row) -> Html:
        return show(row["why"][-1 if last else 0]) if row["why"] else DASH

    return Column(head=head, show=cell)


_OVER: Final = (
    Column(
        head="ago s",
        show=lambda row: number(row["ended_us"] / 1e6, 1),
        sort=lambda row: row["ended_us"],
        number=True,
    ),
    _ms("total_us", "total ms"),
    Column(head="where", show=bar, sort=lambda row: row["total_us"], about=", ".join(HOPS)),
    *(_ms(f"{hop}_us", hop.replace("_", " ")) for hop in HOPS),
    _ms("throttle_us", "throttle", "throttle time returned to the client"),
    _ms("plugin_us", "plugins", "part spent in interceptors"),
    figures("request_bytes", "bytes in"),
    figures("response_bytes", "out"),
    Column(head="error", show=lambda row: shown(row["error"] if row["error_code"] else "")),
)


def ask(query: Query, place: Place) -> Html:
    """Render the choice of list, API and client."""
    which = query.one_of("which", tuple(WHICH))
    links = [
        tag(
            "a",
            text(choice),
            href=place.address("requests", which=choice),
            aria_current="page" if choice == which else None,
        )
        for choice in WHICH
    ]
    fields = [
        begin("input", type="hidden", name="which", value=which),
        begin("input", name="api", placeholder="API", value=query.text("api")),
        begin("input", name="client", placeholder="client id", value=query.text("client")),
        tag("button", text("show")),
    ]
    form = tag("form", *fields, action=place.address("requests"))
    return join([tag("nav", *links, class_="which", aria_label="requests shown"), form])


PAGE = Page(
    name="requests",
    title="Requests",
    order=20,
    about="Requests in flight and what they wait for; the latest and the slowest of each API.",
    read=read,
    show=show,
    ask=ask,
)
