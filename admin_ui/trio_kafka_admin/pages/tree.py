"""The page of the tree: running tasks and waiting work, with current figures.

Many nodes of one kind are folded into one line, and each thing stands in one place. The requests of
viewers and the queue of this UI are left out unless the address says `own=1`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import trio

from trio_kafka.introspect.snapshots import NUMEROUS, WORKING
from trio_kafka.introspect.tree_reader import TreeReading
from trio_kafka.plugin import Figure
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import NOTHING, Html, begin, join, tag, text
from trio_kafka_admin.own_nodes import is_own
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Row
from trio_kafka_admin.tree_folding import fold_rows, see_elsewhere
from trio_kafka_admin.tree_markup import nested

# Some nodes of the tree have the names of Kafka's threads, and their tasks those of parts.
_TASKS: Final = {
    "metadata-loader": "metadata",
    "quorum-controller": "controller",
    "raft-io": "raft",
}
_CLEANER: Final = "cleaner-"
_A_STEP: Final = 32  # rows between two checkpoints
_OPEN_LEVELS: Final = 2  # levels of the whole tree that show what is below them
_WITH_STACK: Final = ("task", "selector")


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
    own_path = None if query.text("own") else reader.context.settings.path
    rows = await _rows(reading, path, own_path)
    elsewhere = {} if path else see_elsewhere(rows)
    rows = [row for row in rows if row["path"] not in elsewhere]
    return {
        "path": path,
        "left_out": list(left_out),
        "truncated": reading.truncated,
        "logs_as_partitions": len(elsewhere),
        "rows": await fold_rows(rows),
    }


async def _rows(reading: TreeReading, top: str, own_path: str | None) -> list[dict[str, Any]]:
    """Return the rows. own_path: address of this UI, whose nodes are left out; None: keep them."""
    rows = []
    # Names may contain slashes, like those of listeners.
    above = top.removesuffix(reading.rows[0].name).removesuffix("/")
    for number, row in enumerate(reading.rows, 1):
        if own_path is None or not row.depth or not is_own(row, own_path):
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
    yield begin("div", class_="tree", id="tree")
    is_whole = not data["path"]
    yield from nested(
        data["rows"],
        line=partial(_line, place=place, is_whole=is_whole),
        links=partial(_links, place=place),
        is_open=lambda row: not is_whole or row["depth"] < _OPEN_LEVELS,
    )
    yield Html("</div>")
    if count := data["logs_as_partitions"]:
        yield tag("p", text(f"{count} logs are shown as their partitions."), class_="more")
    if data["left_out"]:
        yield tag(
            "p", text(f"Too many nodes to show: {', '.join(data['left_out'])}. Select a node.")
        )
    if data["truncated"]:
        yield tag(
            "p", text("There are more nodes: select one of these, or use ?depth= and ?limit=")
        )


def _line(row: Row, is_leaf: bool, *, place: Place, is_whole: bool) -> Html:
    """Render a row. is_whole: without figures that say nothing."""
    name = (
        place.link(row["name"], "tree", path=row["path"])
        if is_leaf
        else tag("b", text(row["name"]))
    )
    return join(
        [
            name,
            Html(" "),
            tag("small", text(row["kind"])),
            *(
                _figure(name, value)
                for name, value in row["figures"].items()
                if not (is_whole and value in _QUIET)
            ),
        ]
    )


def _links(row: Row, is_leaf: bool, *, place: Place) -> Html:
    """Render the links beside a node; none stands in the line that opens it."""
    links = [place.link("only this", "tree", path=row["path"])] if not is_leaf else []
    if row["kind"] in _WITH_STACK and "mount" not in row["figures"]:  # a request has no task
        links.append(place.link("stack", "tasks", of=_task_of(row["name"])))
    return tag("span", *links, class_="links") if links else NOTHING


def _task_of(name: str) -> str:
    """Return the name of the task that a node of the tree is about."""
    if name.startswith(_CLEANER):
        return f"kafka-log-cleaner-thread-{name.removeprefix(_CLEANER)}"
    return _TASKS.get(name, name)


_UNBOUNDED: Final = 2**63 - 1  # Kafka's word for a rate without a limit
_QUIET: Final = (0, None, "", False)


def _figure(name: str, value: Figure) -> Html:
    """Render a figure; one without information, such as 0, is dimmed."""
    quiet = value in _QUIET
    return Html(
        f" <span{' class=quiet' if quiet else ''}><i>{text(name)}</i> {_shown(value)}</span>"
    )


def _shown(value: Figure) -> Html:
    if value is None or value == "":
        return DASH
    if value == _UNBOUNDED:
        return Html("no limit")
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
    order=40,
    about="Running tasks and waiting work: each node is shown below the node that owns it.",
    read=read,
    show=show,
    ask=ask,
)
