"""The page of things to keep: a recording of the next seconds, and a snapshot of all pages."""

from collections.abc import Iterator

import trio

from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.downloads.trace import MOST_SECONDS, SECONDS
from trio_kafka_admin.markup import Html, begin, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query

_TRACE = (
    f"A trace of the next {SECONDS} s (?seconds=, at most {MOST_SECONDS}): which task ran when, and"
    " each request that ended, with its way through the broker. Open it at ui.perfetto.dev or"
    " chrome://tracing."
)
_SNAPSHOT = (
    "All pages of this moment as one HTML file, which opens without a broker. It has no contents of"
    " records and no secrets. ?anonymous=1 replaces names of topics, groups, clients and machines,"
    " and leaves out the pages of free text."
)
_FILES = {"download/trace": _TRACE, "download/snapshot": _SNAPSHOT}


async def read(reader: BrokerReader, query: Query) -> Data:
    del reader, query
    await trio.lowlevel.checkpoint()
    return {"files": [{"path": path, "about": about} for path, about in _FILES.items()]}


def show(data: Data, place: Place) -> Iterator[Html]:
    for file in data["files"]:
        yield tag("p", tag("code", text(file["path"])), text(f": {file['about']}"))
    del place


def ask(query: Query, place: Place) -> Html:
    """Return the two forms."""
    del query
    seconds = tag(
        "label",
        text("seconds "),
        begin("input", type="number", name="seconds", value=SECONDS, min=1, max=MOST_SECONDS),
    )
    anonymous = tag(
        "label",
        begin("input", type="checkbox", name="anonymous", value="1"),
        text(" without names"),
    )
    return tag(
        "div",
        _form("trace", "record", seconds, place),
        _form("snapshot", "keep a snapshot", anonymous, place),
        class_="forms",
    )


def _form(name: str, title: str, control: Html, place: Place) -> Html:
    button = tag("button", text(title), type="submit")
    action = place.address(f"download/{name}")
    return tag("form", control, text(" "), button, action=action, method="get")


PAGE = Page(
    name="keep",
    title="Keep",
    order=90,
    about="Files that show later, and elsewhere, what happens in this broker now.",
    read=read,
    show=show,
    ask=ask,
)
