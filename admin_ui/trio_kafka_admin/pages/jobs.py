"""The page of periodic jobs: when each runs, how long it took, and how it failed."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from trio_kafka.introspect.tree_reader import TreeRow
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import Column, Row, figures, shown, table

KIND: Final = "job"
_INTERVAL: Final = "interval_s"  # other nodes of this kind have none


async def read(reader: BrokerReader, query: Query) -> Data:
    del query
    reading = await reader.tree(kinds=[KIND])
    rows = [_row(row) for row in reading.rows if row.kind == KIND]
    return {"jobs": sorted((row for row in rows if _INTERVAL in row), key=itemgetter("name"))}


def _row(row: TreeRow) -> dict[str, object]:
    return {"name": row.name, **row.figures}


def show(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        Column(
            head="job",
            show=lambda row: place.link(row["name"], "tree", path=f"scheduler/{row['name']}"),
            about="its node in the tree",
        ),
        figures(_INTERVAL, "every s"),
        Column(
            head="next in s", show=_next, number=True, about="a dash: not before its owner arms it"
        ),
        figures("last_ago_s", "last ago s"),
        figures("last_took_s", "took s", digits=3),
        figures("runs", "runs"),
        figures("failures", "failures"),
        Column(head="last error", show=_error),
    )
    empty = "There are no jobs."
    yield from table("jobs", columns, data["jobs"], key=itemgetter("name"), empty=empty)
    hint = "To run a job now: trio-kafka jobs run NAME, on the machine of the broker."
    yield tag("p", text(hint), class_="more")


def _next(row: Row) -> Html:
    if row["running"]:
        return text("now")
    due = row["next_in_s"]
    return shown(None if due is None else f"{due:.0f}")


def _error(row: Row) -> Html:
    error = row["last_error"]
    return shown(None) if error is None else tag("span", text(error), class_="bad")


PAGE = Page(
    name="jobs",
    title="Jobs",
    order=50,
    about="Periodic jobs of this broker: the next run, the last one, its duration and error.",
    read=read,
    show=show,
)
