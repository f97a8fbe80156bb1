"""Plugins: how each of them is, what it gives, and how it is set."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final

from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin
from trio_kafka.protocol.schema import fields_of
from trio_kafka_admin.asker import Asker
from trio_kafka_admin.markup import Html, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, Row, figures, shown, table, words


async def read(asker: Asker, query: Query) -> Data:
    del query
    answer = await asker.plugins()
    return {"plugins": [_row(one) for one in answer.plugins]}


def _row(plugin: ListedPlugin) -> dict[str, Any]:
    row = {name: getattr(plugin, name) for name in _FIELDS}
    row["settings"] = {one.name: one.value for one in plugin.settings}
    return row


_FIELDS: Final = [field.name for field in fields_of(ListedPlugin)]


def show(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        Column(
            head="plugin",
            show=lambda row: place.link(row["name"], "tree", path=f"plugins/{row['name']}"),
            about="its place in the tree",
        ),
        Column(head="state", show=_state),
        figures("generation", "generation", about="how often it has begun"),
        figures("past", "leaving", about="generations that have not ended yet"),
        figures("failures", "failures"),
        words("policy", "policy", "what becomes of it when it fails"),
        figures("order", "order"),
        words("doc", "what it does"),
        Column(head="gives", show=lambda row: shown(" ".join(row["contributions"]))),
        Column(head="settings", show=_settings),
    )
    empty = "There are no plugins."
    yield from table("plugins", columns, data["plugins"], key=itemgetter("name"), empty=empty)


def _state(row: Row) -> Html:
    state = row["state"] if row["enabled"] else "off"
    told = text(f": {row['error']}") if row["error"] else text("")
    return tag("span", text(state), told, class_="bad" if state == "failed" else None)


def _settings(row: Row) -> Html:
    """Folded: they are long."""
    settings = row["settings"]
    if not settings:
        return shown(None)
    lines = [join([text(f"{name}={value}"), Html("<br>")]) for name, value in settings.items()]
    head = tag("summary", text(len(settings)))
    return tag("details", head, *lines, id=f"settings-{row['name']}")


PAGE = Page(
    name="plugins",
    title="Plugins",
    order=60,
    about="What this broker is extended with, how each of them is, and how it is set.",
    read=read,
    show=show,
)
