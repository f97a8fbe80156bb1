"""The page of broker settings: value, source, when a change takes effect, and what each does."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from trio_kafka.config.dynamic import Source
from trio_kafka.config.report.describe import Row as SettingRow
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import fold
from trio_kafka_admin.table import Column, Row, shown, table, words

WHICH: Final = ("set", "dynamic", "all")
HIDDEN: Final = "(hidden)"
_SOURCES: Final = {
    Source.DYNAMIC_BROKER: "dynamic, this broker",
    Source.DYNAMIC_DEFAULT_BROKER: "dynamic, all brokers",
    Source.STATIC_BROKER: "file or command line",
    Source.DEFAULT: "default",
}


async def read(reader: BrokerReader, query: Query) -> Data:
    which, search = query.one_of("which", WHICH), query.text("of").lower()
    settings = [
        _row(setting)
        for setting in sorted(await reader.settings(), key=lambda setting: setting.name)
        if _is_wanted(setting, which, search)
    ]
    most = query.limit(reader.max_rows)
    return {"which": which, "total": len(settings), "settings": settings[:most]}


def _is_wanted(setting: SettingRow, which: str, search: str) -> bool:
    if which == "set" and setting.source is Source.DEFAULT:
        return False
    if which == "dynamic" and setting.read_only:
        return False
    return search in setting.name.lower() or search in setting.doc.lower()


def _row(setting: SettingRow) -> dict[str, object]:
    return {
        "name": setting.name,
        "value": setting.value,
        "secret": setting.sensitive,
        "source": _SOURCES.get(setting.source, setting.source.name.lower()),
        "is_default": setting.source is Source.DEFAULT,
        "dynamic": not setting.read_only,
        "doc": setting.doc,
        "synonyms": [
            {
                "name": synonym.name,
                "value": None if setting.sensitive else synonym.value,
                "source": _SOURCES.get(synonym.source, synonym.source.name.lower()),
            }
            for synonym in setting.synonyms
        ],
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    del place
    rows, key = data["settings"], itemgetter("name")
    yield from table("settings", _COLUMNS, rows, key=key, empty="No setting matches.")
    left_out = data["total"] - len(rows)
    if left_out:
        yield tag("p", text(f"{left_out} more: narrow the search, or use ?limit="), class_="more")


def _value(row: Row) -> Html:
    if row["secret"]:
        return tag("i", text(HIDDEN))
    return tag("code", text(row["value"])) if row["value"] not in (None, "") else shown(None)


def _source(row: Row) -> Html:
    if len(row["synonyms"]) < 2:
        return text(row["source"])
    lines = [
        join([text(f"{synonym['name']}={synonym['value']}: {synonym['source']}"), Html("<br>")])
        for synonym in row["synonyms"]
        if synonym["value"] is not None
    ]
    return fold(text(row["source"]), *lines, name=f"source-{row['name']}")


_COLUMNS: Final = (
    words("name", "setting", long=True),
    Column(head="value", show=_value),
    Column(head="source", show=_source, about="the first source that has it"),
    Column(
        head="a change",
        show=lambda row: Html("at once" if row["dynamic"] else "at the next&nbsp;start"),
        about="when a change of the setting takes effect",
    ),
    words("doc", "what it does", long=True),
)


def ask(query: Query, place: Place) -> Html:
    """Render the choice of settings, and the search."""
    which = query.one_of("which", WHICH)
    links = [
        tag(
            "a",
            text(choice),
            href=place.address("settings", which=choice),
            aria_current="page" if choice == which else None,
        )
        for choice in WHICH
    ]
    fields = [
        # A search among the few that are set would rarely hit.
        begin("input", type="hidden", name="which", value="all" if which == "set" else which),
        begin(
            "input",
            name="of",
            placeholder="name or description",
            aria_label="name or description",
            value=query.text("of"),
        ),
        tag("button", text("show")),
    ]
    form = tag("form", *fields, action=place.address("settings"))
    return join([tag("nav", *links, class_="which", aria_label="settings shown"), form])


PAGE = Page(
    name="settings",
    title="Settings",
    order=60,
    about="Settings of this broker that are set, dynamic, or all: value, source and meaning.",
    read=read,
    show=show,
    ask=ask,
)
