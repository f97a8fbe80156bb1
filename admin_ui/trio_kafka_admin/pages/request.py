"""The page of one request: the chain of what it waits for, its hops, and its decoded fields."""

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.facts.requests import OpenedRequest
from trio_kafka.introspect.waits import seconds
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.hop_words import HOP_WORDS
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, number, shown, table, words
from trio_kafka_admin.wait_markup import on_link, wait_data, wait_item

_WIDTH: Final = 1000  # units of the timeline
_HEIGHT: Final = 14
_ROWS: Final = 500  # fields that are shown
_DEEPEST: Final = 8
_A_STEP: Final = 32  # fields between two checkpoints
_ERRORS: Final = {int(code): code.name for code in ErrorCode}
_LOWEST: Final = -(1 << 31)  # correlation id
_HIGHEST: Final = (1 << 31) - 1


async def read(reader: BrokerReader, query: Query) -> Data:
    connection = query.text("connection")
    correlation = query.number("correlation", 0, low=_LOWEST, high=_HIGHEST)
    opened = await reader.request(connection, correlation)
    return {
        "connection": connection,
        "correlation": correlation,
        "request": None if opened is None else await _data(opened),
    }


async def _data(opened: OpenedRequest) -> dict[str, Any]:
    facts = opened.facts
    rows = list[dict[str, str]]()
    for place, (path, value) in enumerate(_flat("", opened.fields or {}, _DEEPEST), 1):
        if place > _ROWS:
            rows.append({"field": "", "value": "there are more fields"})
            break
        rows.append({"field": path, "value": value})
        if not place % _A_STEP:
            await trio.lowlevel.checkpoint()
    return {
        "api": facts.api,
        "version": facts.version,
        "stage": facts.stage or "ended",
        "ended_s": opened.ended_s,
        "age_s": facts.age_s,
        "client_id": facts.client_id,
        "software": facts.software,
        "principal": facts.principal,
        "peer": facts.peer,
        "listener": facts.listener,
        "security_protocol": opened.security_protocol,
        "plane": facts.plane,
        "processor": facts.processor,
        "request_bytes": facts.request_bytes,
        "response_bytes": opened.response_bytes,
        "throttled_s": opened.throttled_s,
        "plugin_s": opened.plugin_s,
        "error": _ERRORS.get(opened.error, f"error {opened.error}"),
        "hops_s": facts.hops_s,
        "why": [wait_data(wait) for wait in facts.why],
        "fields": rows,
        "no_fields": opened.no_fields,
    }


def _flat(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each field that has no fields itself."""
    if isinstance(value, Mapping) and depth:
        for name, inner in value.items():
            yield from _flat(f"{path}.{name}" if path else str(name), inner, depth - 1)
    elif isinstance(value, list) and depth and value:
        for place, inner in enumerate(value):
            yield from _flat(f"{path}[{place}]", inner, depth - 1)
    else:
        yield path, "" if value is None else str(value)


def show(data: Data, place: Place) -> Iterator[Html]:
    request = data["request"]
    if request is None:
        gone = "No such request is in flight: it has ended, or was never there."
        back = place.link("Look at the requests in flight.", "requests")
        yield tag("p", text(f"{gone} "), back, class_="empty")
        return
    yield tag("h2", text(_headline(request)), id="request")
    yield from _show_why(request, place)
    yield tag("h2", text("Hops"), id="hops")
    yield _timeline(request["hops_s"])
    yield from table("hops-table", _HOPS, _hop_rows(request["hops_s"]), key=_HOP, empty="")
    yield tag("h2", text("Request"), id="client")
    yield _properties(request, data, place)
    yield tag("h2", text("Fields"), id="fields")
    empty = f"No fields are shown: {request['no_fields']}."
    if not request["no_fields"]:
        empty = "The request has no fields."
    yield from table(
        "field-table", _FIELDS, request["fields"], key=itemgetter("field"), empty=empty
    )


def _headline(request: Mapping[str, Any]) -> str:
    name = f"{request['api']} v{request['version']} of {request['client_id'] or 'a client'}"
    if request["ended_s"] is not None:
        took, ago = seconds(request["age_s"]), seconds(request["ended_s"])
        return f"{name} has ended {ago} ago, after {took}"
    return f"{name}: {request['stage']}, in flight for {seconds(request['age_s'])}"


def _show_why(request: Mapping[str, Any], place: Place) -> Iterator[Html]:
    yield tag("h2", text("Why it waits"), id="why")
    if not request["why"]:
        over = request["ended_s"] is not None
        words_ = "It has ended." if over else "It does not wait: a handler works for it."
        yield tag("p", text(words_), class_="empty")
        return
    arrow = text(" \N{LEFTWARDS ARROW} ")
    steps = [join([arrow, on_link(wait, place)]) for wait in request["why"]]
    yield tag("p", text("request"), *steps, class_="chain")
    yield tag("ol", *(wait_item(wait, place) for wait in request["why"]), class_="why")


def _timeline(hops: Mapping[str, float]) -> Html:
    """Render the hops in order, each as wide as its share of the time."""
    total, at, parts = sum(hops.values()) or 1.0, 0.0, []
    for hop, took_s in hops.items():
        width = _WIDTH * took_s / total
        label = tag("title", text(f"{_hop_name(hop)}: {_ms(took_s)}"))
        start = begin("rect", class_=hop, x=f"{at:.1f}", y=0, width=f"{width:.1f}", height=_HEIGHT)
        parts.append(join([start, label, Html("</rect>")]))
        at += width
    box = f"0 0 {_WIDTH} {_HEIGHT}"
    how = {"viewBox": box, "preserveAspectRatio": "none"}
    texts = ", ".join(f"{_hop_name(hop)} {_ms(took_s)}" for hop, took_s in hops.items())
    return tag(
        "svg",
        *parts,
        class_="hops",
        width="100%",
        height=_HEIGHT,
        role="img",
        aria_label=f"hops: {texts}",
        **how,
    )


def _hop_rows(hops: Mapping[str, float]) -> list[dict[str, Any]]:
    total = sum(hops.values()) or 1.0
    return [
        {
            "hop": hop,
            "meaning": HOP_WORDS[hop],
            "ms": took_s * 1e3,
            "percent": 100 * took_s / total,
        }
        for hop, took_s in hops.items()
    ]


def _hop_name(hop: str) -> str:
    return hop.replace("_", " ")


def _ms(took_s: float) -> str:
    return f"{took_s * 1e3:,.3f} ms"


def _properties(request: Mapping[str, Any], data: Data, place: Place) -> Html:
    client, connection = request["client_id"], data["connection"]
    pairs: list[tuple[str, Html]] = [
        ("client", place.link(client, "clients", name=client) if client else shown("")),
        ("software", shown(request["software"])),
        ("peer", shown(request["peer"])),
        ("connection", shown(connection)),
        ("correlation id", text(data["correlation"])),
        ("principal", shown(request["principal"])),
        ("listener", text(f"{request['listener']}, {request['security_protocol']}")),
        ("processor", shown(request["processor"])),
        ("received", text(f"{request['request_bytes']:,} bytes")),
        ("answer", text(f"{request['response_bytes']:,} bytes")),
        ("throttled", text(seconds(request["throttled_s"]))),
        ("in plugins", text(_ms(request["plugin_s"]))),
        ("error", shown("" if request["error"] == "NONE" else request["error"])),
    ]
    return tag("dl", *(join([tag("dt", text(name)), tag("dd", value)]) for name, value in pairs))


_HOP: Final = itemgetter("hop")
_HOPS: Final = (
    Column(head="hop", show=lambda row: text(_hop_name(row["hop"]))),
    words("meaning", "meaning"),
    Column(head="ms", show=lambda row: number(row["ms"], 3), sort=itemgetter("ms"), number=True),
    Column(
        head="%",
        show=lambda row: number(row["percent"], 1),
        sort=itemgetter("percent"),
        number=True,
    ),
)
_FIELDS: Final = (words("field", "field"), words("value", "value"))

PAGE = Page(
    name="request",
    title="Request",
    order=21,
    about="One request: what it waits for at last, where its time went, and its fields.",
    read=read,
    show=show,
    is_listed=False,
)
