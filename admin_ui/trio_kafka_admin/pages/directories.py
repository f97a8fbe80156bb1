"""The page of log directories: state, space, logs, and syncs under way."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import attrs

from trio_kafka_admin.amounts import second_text
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.cells import sizes
from trio_kafka_admin.markup import NOTHING, Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import Tone, badge, bar
from trio_kafka_admin.table import DASH, Column, Row, figures, table, words

_NEARLY_FULL: Final = 0.9
_FULL: Final = 0.95


async def read(reader: BrokerReader, query: Query) -> Data:
    del query
    facts = await reader.directories(sizes=True)
    return {"directories": [attrs.asdict(directory) for directory in facts]}


def show(data: Data, place: Place) -> Iterator[Html]:
    del place
    rows = data["directories"]
    yield from table(
        "directories", _COLUMNS, rows, key=itemgetter("path"), empty="There is no log directory."
    )
    yield tag("h2", text("Syncs under way"))
    syncs = [sync for row in rows for sync in row["syncs"]]
    empty = "No directory writes to its disk at the moment."
    yield from table(
        "syncs", _SYNCS, syncs, key=lambda sync: (sync["directory"], sync["files"]), empty=empty
    )


def _state(row: Row) -> Html:
    if not row["error"]:
        return badge("good", "serves")
    return tag("span", badge("bad", "offline"), text(f": {row['error']}"))


def _used(row: Row) -> Html:
    share = row["used_share"]
    if share is None:
        return DASH
    tone: Tone = "bad" if share >= _FULL else "warn" if share >= _NEARLY_FULL else "info"
    return bar(share, f"{100 * share:.0f} %", tone)


def _oldest(row: Row) -> float | None:
    return max((sync["age_s"] for sync in row["syncs"]), default=None)


def _syncing(row: Row) -> Html:
    """Render how many syncs are under way, and for how long the oldest is."""
    oldest = _oldest(row)
    if oldest is None:
        return text("none")
    return text(f"{len(row['syncs'])}, the oldest for {second_text(oldest)}")


def _files(sync: Row) -> Html:
    return text(", ".join(sync["files"])) if sync["files"] else NOTHING


_COLUMNS: Final = (
    words("path", "directory", long=True),
    Column(head="state", show=_state),
    Column(head="used", show=_used, sort=lambda row: row["used_share"], about="of its file system"),
    sizes("free_bytes", "free"),
    sizes("total_bytes", "total"),
    figures("logs", "logs"),
    sizes("log_bytes", "logs use", "bytes of the logs in it"),
    Column(head="syncs", show=_syncing, sort=_oldest, about="writes to the disk under way"),
    figures("waiting", "waiting", about="syncs that wait for a thread"),
)
_SYNCS: Final = (
    words("directory", "directory", long=True),
    Column(head="files", show=_files, long=True),
    Column(
        head="for",
        show=lambda sync: text(second_text(sync["age_s"])),
        sort=lambda sync: sync["age_s"],
        number=True,
    ),
)
PAGE = Page(
    name="directories",
    title="Directories",
    order=62,
    about="Log directories: state, space on the disk, logs, and writes to the disk under way.",
    read=read,
    show=show,
)
