"""The page of plugins: state, contributions and settings of each."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from trio_kafka.protocol.messages.k10002_list_plugins import ListedPlugin
from trio_kafka.protocol.schema import fields_of
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, Row, figures, shown, table, words


async def read(reader: BrokerReader, query: Query) -> Data:
    del query
    answer = await reader.plugins()
    return {"plugins": [_row(plugin) for plugin in answer.plugins]}


def _row(plugin: ListedPlugin) -> dict[str, object]:
    row = {name: getattr(plugin, name) for name in _FIELDS}
    row["settings"] = {setting.name: setting.value for setting in plugin.settings}
    return row


_FIELDS: Final = [field.name for field in fields_of(ListedPlugin)]


def show(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        Column(
            head="plugin",
            show=lambda row: place.link(row["name"], "tree", path=f"plugins/{row['name']}"),
            about="its node in the tree",
        ),
        Column(head="state", show=_state),
        figures("generation", "generation", about="number of starts"),
        figures("past", "leaving", about="generations that still run"),
        figures("failures", "failures"),
        figures("failed_requests", "failed requests", about="requests that raised in its code"),
        words("policy", "policy", "its policy on failure"),
        figures("order", "order"),
        words("doc", "what it does"),
        Column(head="contributes", show=lambda row: shown(" ".join(row["contributions"]))),
        Column(head="settings", show=_settings),
    )
    empty = "No plugin is installed."
    yield from table("plugins", columns, data["plugins"], key=itemgetter("name"), empty=empty)


def _state(row: Row) -> Html:
    state = row["state"] if row["enabled"] else "off"
    reason = text(f": {row['error']}") if row["error"] else text("")
    return tag("span", text(state), reason, class_="bad" if state == "failed" else None)


def _settings(row: Row) -> Html:
    """Render the settings, folded because they are long."""
    settings = row["settings"]
    if not settings:
        return shown(None)
    lines = [join([text(f"{name}={value}"), Html("<br>")]) for name, value in settings.items()]
    head = tag("summary", text(len(settings)))
    return tag("details", head, *lines, id=f"settings-{row['name']}")


PAGE = Page(
    name="plugins",
    title="Plugins",
    order=52,
    about="Plugins of this broker: state, contributions and settings.",
    read=read,
    show=show,
)
