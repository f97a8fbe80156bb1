"""The overview: identity of the broker, current problems, load of the loops, requests by API."""

from collections.abc import Iterator
from functools import cache
from importlib import metadata
from operator import itemgetter
from typing import Final

import attrs

from trio_kafka.introspect.snapshots import HOPS, TreeSnapshot, api_loads, loops
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.findings import findings
from trio_kafka_admin.markup import Html, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, Row, figures, number, table, words

_COUNTS: Final = {
    "partitions": ("replica-manager", "partitions"),
    "led here": ("replica-manager", "leaders"),
    "logs": ("log-manager", "logs"),
    "groups": ("group-coordinator", "groups"),
    "connections": ("connection-limits", "connections"),
}


async def read(reader: BrokerReader, query: Query) -> Data:
    del query
    before, after = await reader.overview.two()
    parts = reader.context.parts
    return {
        "node_id": int(parts.node_id),
        "cluster_id": parts.cluster_id,
        "version": _version(),
        "seconds": None if before is None else after.at - before.at,
        "findings": [attrs.asdict(finding) for finding in findings(before, after)],
        "listeners": _listeners(after),
        "counts": _counts(after),
        "loops": [attrs.asdict(loop) for loop in loops(before, after)],
        "apis": [attrs.asdict(load) for load in api_loads(before, after)],
    }


@cache
def _version() -> str:
    """Return the version; importlib parses a file for it."""
    return metadata.version("trio-kafka")


def _counts(look: TreeSnapshot) -> dict[str, int]:
    counts = dict[str, int]()
    top = next(iter(look.nodes))
    for title, (name, figure) in _COUNTS.items():
        node = look.nodes.get((*top, name))
        if node is not None:
            counts[title] = int(node.number(figure))
    return counts


def _listeners(look: TreeSnapshot) -> list[str]:
    nodes = look.nodes.values()
    return [node.name.removeprefix("listener ") for node in nodes if node.kind == "listener"]


def show(data: Data, place: Place) -> Iterator[Html]:
    yield _findings(data["findings"], place)
    yield _facts(data)
    yield tag("h2", text("Loops"))
    key = itemgetter("plane")
    yield from table("loops", _LOOPS, data["loops"], key=key, empty="No plane is running.")
    yield tag("h2", text("Requests"))
    of_api, empty = itemgetter("plane", "api"), "No request has been served yet."
    yield from table("apis", _APIS, data["apis"], key=of_api, empty=empty)
    seconds = data["seconds"]
    period = "since the start" if seconds is None else f"of the last {seconds:.1f} s"
    yield tag("p", text(f"Rates and means are {period}."), class_="more")


def _findings(problems: list[Row], place: Place) -> Html:
    if not problems:
        return tag("p", text("No problem found."), class_="good")
    items = [
        tag(
            "li",
            text(problem["words"]),
            Html(" "),
            place.link("look", "tree", path=problem["node"]),
        )
        for problem in problems
    ]
    return tag("ul", *items, class_="bad")


def _facts(data: Data) -> Html:
    facts = {
        "broker": data["node_id"],
        "cluster": data["cluster_id"],
        "trio-kafka": data["version"],
        "listeners": " ".join(data["listeners"]),
        **data["counts"],
    }
    parts = [join([tag("dt", text(name)), tag("dd", text(fact))]) for name, fact in facts.items()]
    return tag("dl", *parts)


def _hop(hop: str) -> Column:
    return Column(
        head=hop.replace("_", " "),
        show=lambda row: number(row["hops_ms"][hop], 3),
        sort=lambda row: row["hops_ms"][hop],
        number=True,
    )


_LOOPS: Final = (
    words("plane", "plane"),
    figures("connections", "connections"),
    figures("passes_per_s", "passes/s", digits=1),
    figures("busy_percent", "busy %", digits=1, about="share of time in which the loop was busy"),
    figures("wake_ms", "wake ms", digits=3, about="mean time from wake-up to run"),
    figures("lag_ms", "lag ms", digits=1, about="longest recent pass of the loop"),
    figures("tasks", "tasks"),
)
_APIS: Final = (
    words("api", "API"),
    words("plane", "plane"),
    figures("per_s", "/s", digits=1),
    *(_hop(hop) for hop in HOPS),
    figures("total_ms", "total ms", digits=3),
    figures("total_max_ms", "max ms", digits=1, about="since the start"),
    figures("count", "count", about="since the start"),
)
PAGE = Page(
    name="overview",
    title="Overview",
    order=10,
    about="Current state of this broker.",
    read=read,
    show=show,
    is_kept=True,
)
