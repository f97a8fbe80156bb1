"""The page of connections: clients, their software, and why a connection is muted."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

import trio

from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import badge
from trio_kafka_admin.table import Column, Row, figures, table, words

IN_FLIGHT: Final = "in flight"  # the reason while a request is worked on
_A_STEP: Final = 32  # rows between two checkpoints
_KINDS: Final = ("plane", "listener", "connection")
_MOST_PLACES: Final = 100  # planes and listeners that are read beside the connections


async def read(reader: BrokerReader, query: Query) -> Data:
    most = query.limit(reader.max_rows)
    search = query.text("of").lower()
    # Only a search reads connections that it does not show.
    reading = await reader.tree(
        kinds=_KINDS, most=-1 if search else most + _MOST_PLACES, counts=True
    )
    rows = await _rows(reading, search)
    unread = reading.unread.get("connection", 0)
    return {
        "truncated": bool(search and unread),
        "total": len(rows) + (0 if search else unread),
        "connections": rows[:most],
    }


async def _rows(reading: TreeReading, search: str) -> Sequence[Row]:
    """Return the rows whose client id, software, peer, listener or plane contains `search`."""
    rows = []
    above: list[tuple[str, str]] = []
    for number, node in enumerate(reading.rows, 1):
        above[node.depth :] = [(node.kind, node.name)]
        if node.kind == "connection":
            figures_of = dict(node.figures)
            places = dict(above)
            row = {
                "plane": places.get("plane", "").removeprefix("plane "),
                "listener": places.get("listener", "").removeprefix("listener "),
                # The HTTP plane names connections by their peers.
                "peer": figures_of.pop("peer", node.name),
                "client_id": figures_of.pop("client_id", None),
                "software": figures_of.pop("software", None),
                "requests": figures_of.pop("requests", None),
                "muted": figures_of.pop("muted", None),
                "unsent": figures_of.pop("unsent", None),
                "others": figures_of,
            }
            if not search or any(search in str(row[key] or "").lower() for key in _LOOKED_AT):
                rows.append(row)
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return rows


def _state(row: Row) -> Html:
    """Render why it is not read from; a request under way is the usual reason."""
    reason = row["muted"]
    if not reason:
        return badge("idle", "waits for requests")
    return badge("info", "a request is in flight") if reason == IN_FLIGHT else badge("warn", reason)


_LOOKED_AT: Final = ("peer", "client_id", "software", "listener", "plane")
_COLUMNS: Final = (
    words("peer", "peer"),
    words("client_id", "client"),
    words("software", "software"),
    words("listener", "listener"),
    words("plane", "plane"),
    figures("requests", "requests"),
    Column(head="state", show=_state, about="why the broker does not read from it now"),
    figures("unsent", "unsent bytes"),
)


def show(data: Data, place: Place) -> Iterator[Html]:
    del place
    rows, key = data["connections"], itemgetter("listener", "peer")
    yield from table("connections", _COLUMNS, rows, key=key, empty="No client is connected.")
    left_out = data["total"] - len(data["connections"])
    if left_out:
        yield tag("p", text(f"{left_out} more: narrow the filter, or use ?limit="))
    if data["truncated"]:
        yield tag("p", text("There are more connections than this page reads."))


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
    about="Connected clients, their software, and connections that are not read at the moment.",
    read=read,
    show=show,
    ask=ask,
)
