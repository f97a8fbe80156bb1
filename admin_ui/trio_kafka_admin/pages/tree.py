"""The page of the tree: running tasks and waiting work, with current figures."""

from collections.abc import Iterator
from typing import Final

import trio

from trio_kafka.introspect.snapshots import NUMEROUS, WORKING
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.plugin import Figure
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import NOTHING, Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Row

_A_STEP: Final = 32  # rows between two checkpoints


async def read(reader: BrokerReader, query: Query) -> Data:
    path = query.text("path")
    depth = query.number("depth", -1, low=-1, high=1000)
    most = query.limit(reader.max_rows)
    reading = await reader.tree(path=path, depth=depth, most=most)
    left_out: tuple[str, ...] = ()
    if reading.truncated and not path:
        # Working parts tell more than thousands of logs that come first.
        reading = await reader.tree(depth=depth, most=most, kinds=WORKING)
        left_out = NUMEROUS
    return {
        "path": path,
        "left_out": list(left_out),
        "truncated": reading.truncated,
        "rows": await _rows(reading, path),
    }


async def _rows(reading: TreeReading, top: str) -> list[dict[str, object]]:
    rows = []
    # Names may contain slashes, like those of listeners.
    above = top.removesuffix(reading.rows[0].name).removesuffix("/")
    for number, row in enumerate(reading.rows, 1):
        data = {
            "depth": row.depth,
            "kind": row.kind,
            "name": row.name,
            "path": "/".join((above, *row.path) if above else row.path),
            "figures": row.figures,
        }
        rows.append(data)
        if not number % _A_STEP:
            await trio.lowlevel.checkpoint()
    return rows


def show(data: Data, place: Place) -> Iterator[Html]:
    rows = data["rows"]
    yield begin("div", class_="tree", id="tree")
    opened = 0
    for at, row in enumerate(rows):
        below = at + 1 < len(rows) and rows[at + 1]["depth"] > row["depth"]
        yield from [_END] * (opened - row["depth"])
        opened = row["depth"]
        line = _line(row, place)
        if below:
            opened += 1
            head = begin("details", open=True, id=row["path"])
            yield join([head, tag("summary", line)])
        else:
            yield tag("div", line, class_="leaf", id=row["path"])
    yield from [_END] * opened
    yield Html("</div>")
    if data["left_out"]:
        yield tag(
            "p", text(f"Too many nodes to show: {', '.join(data['left_out'])}. Select a node.")
        )
    if data["truncated"]:
        yield tag(
            "p", text("There are more nodes: select one of these, or use ?depth= and ?limit=")
        )


_END: Final = Html("</details>")


def _line(row: Row, place: Place) -> Html:
    return join(
        [
            place.link(row["name"], "tree", path=row["path"]),
            Html(" "),
            tag("small", text(row["kind"])),
            *(_figure(name, value) for name, value in row["figures"].items()),
        ]
    )


def _figure(name: str, value: Figure) -> Html:
    """Render a figure; one without information, such as 0, is dimmed."""
    quiet = value in (0, None, "", False)
    return Html(
        f" <span{' class=quiet' if quiet else ''}><i>{text(name)}</i> {_shown(value)}</span>"
    )


def _shown(value: Figure) -> Html:
    if value is None or value == "":
        return DASH
    if isinstance(value, float):
        return text(f"{value:.3f}".rstrip("0").rstrip("."))
    if isinstance(value, bool):
        return Html("yes" if value else "no")
    return text(value)


def ask(query: Query, place: Place) -> Html:
    """Render links to the ancestors of the node."""
    path = query.text("path")
    if not path:
        return NOTHING
    return tag("p", place.link("the whole tree", "tree"), Html(" &rsaquo; "), text(path))


PAGE = Page(
    name="tree",
    title="Tree",
    order=20,
    about="Running tasks and waiting work: each node is shown below the node that owns it.",
    read=read,
    show=show,
    ask=ask,
)
