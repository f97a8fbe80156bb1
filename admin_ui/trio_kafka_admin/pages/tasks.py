"""The page of tasks: each below the task that owns it; one opened with its stack."""

from collections.abc import Iterator
from typing import Any, Final

import attrs

from trio_kafka.introspect.tasks import MOST, TaskRow
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import NOTHING, Html, begin, place_text, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import badge
from trio_kafka_admin.table import Row
from trio_kafka_admin.tree_folding import fold_rows
from trio_kafka_admin.tree_markup import nested
from trio_kafka_admin.wait_markup import wait_data

_KIND: Final = "task"
_OPEN_LEVELS: Final = 3  # levels that show what is below them


async def read(reader: BrokerReader, query: Query) -> Data:
    path, name = query.text("path"), query.text("of")
    if path:
        return _opened(path, attrs.asdict(await reader.task_stack(path)))
    reading = await reader.tasks(most=query.limit(MOST))
    named = [row for row in reading.rows if name == row.name] or [
        row for row in reading.rows if name in row.name
    ]
    if name and len(named) == 1:
        path = named[0].path
        return _opened(path, attrs.asdict(await reader.task_stack(path)))
    rows = [_row(row, 0 if name else row.depth) for row in (named if name else reading.rows)]
    return {
        "path": "",
        "stack": None,
        "truncated": reading.truncated,
        "rows": await fold_rows(rows),
    }


def _opened(path: str, stack: dict[str, Any]) -> Data:
    return {"path": path, "stack": stack, "truncated": False, "rows": []}


def _row(row: TaskRow, depth: int) -> dict[str, Any]:
    return {
        "depth": depth,
        "kind": _KIND,
        "name": row.name,
        "path": row.path,
        "figures": {row.place or "not begun": ""},
        "wait": None if row.wait is None else wait_data(row.wait),
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    if data["stack"] is not None:
        yield from _stack(data["stack"])
        return
    if not data["rows"]:
        yield tag("p", text("No task has such a name."), class_="empty")
        return
    yield begin("div", class_="tree", id="tasks")
    yield from nested(
        data["rows"],
        line=_line,
        links=lambda row, _: _link(row, place),
        is_open=lambda row: row["depth"] < _OPEN_LEVELS,
    )
    yield Html("</div>")
    if data["truncated"]:
        yield tag("p", text("There are more tasks: use ?of= and a name, or ?limit="))


def _line(row: Row, is_leaf: bool) -> Html:
    del is_leaf
    [where] = row["figures"]
    wait = "" if row["wait"] is None else f"waits for {row['wait']['words']} "
    return Html(f"{tag('b', text(row['name']))} {text(wait)}{tag('small', place_text(where))}")


def _link(row: Row, place: Place) -> Html:
    return tag("span", place.link("stack", "tasks", path=row["path"]), class_="links")


def _stack(stack: Row) -> Iterator[Html]:
    """Render scopes and frames of one task."""
    yield tag("h2", text(stack["name"]))
    deadline = stack["deadline_s"]
    state = (
        badge("warn", "cancelled")
        if stack["cancelled"]
        else badge("idle", "no deadline of its own")
        if deadline is None
        else badge("info", f"deadline in {deadline:.1f} s")
    )
    yield tag("p", state)
    yield begin("ol", class_="lines", id="stack")
    for frame in stack["frames"]:
        where = tag("span", place_text(f"{frame['module']}:{frame['line']}"), class_="idle")
        scopes = [
            tag("li", text(f"{scope['kind']} of line {scope['line']}: {scope['words'] or 'open'}"))
            for scope in frame["scopes"]
        ]
        yield tag(
            "li",
            tag("b", text(frame["function"])),
            Html(" "),
            where,
            Html("<br>"),
            tag("code", text(frame["code"])),
            tag("ul", *scopes) if scopes else NOTHING,
        )
    yield Html("</ol>")
    if stack["problem"]:
        yield tag("p", text(f"The stack is incomplete: {stack['problem']}"), class_="bad")


def ask(query: Query, place: Place) -> Html:
    """Render the search, or the way back from one task."""
    if query.text("path"):
        path = text(query.text("path"))
        return tag("p", place.link("all tasks", "tasks"), Html(" &rsaquo; "), path)
    field = begin(
        "input",
        name="of",
        placeholder="name of a task",
        aria_label="name of a task",
        value=query.text("of"),
    )
    return tag("form", field, tag("button", text("show")), action=place.address("tasks"))


PAGE = Page(
    name="tasks",
    title="Tasks",
    order=44,
    about="Running tasks and where each waits; a task opens with its stack, scopes and deadline.",
    read=read,
    show=show,
    ask=ask,
)
