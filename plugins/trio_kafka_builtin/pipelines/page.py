"""The page `pipelines` of the admin UI: each pipeline with its last lines, and each query."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

import trio

from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Column, Row, figures, number, shown, table, words
from trio_kafka_builtin.pipelines.supervisor import Supervisor

_LINES: Final = 40  # lines of each pipeline, unless the address says otherwise
_MOST_LINES: Final = 1000
_A_PIECE: Final = 20  # lines: below 0.1 ms
_SHOWN_OFFSETS: Final = 8


def make_page(supervisor: Supervisor) -> Page:
    """Return the page of these pipelines."""

    async def read(reader: BrokerReader, query: Query) -> Data:
        del reader
        lines = query.number("lines", _LINES, low=1, high=_MOST_LINES)
        only = query.text("name")
        rows = list[dict[str, object]]()
        for pipeline in supervisor:
            if only in ("", pipeline.name):
                rows.append(pipeline.shown(lines))
                await trio.lowlevel.checkpoint()
        return {
            "now": supervisor.now(),
            "pipelines": rows,
            "refused": [{"file": file.file, "error": file.error} for file in supervisor.refused],
        }

    return Page(
        name="pipelines",
        title="Pipelines",
        order=70,
        about="Child programs of this broker, and the progress of their queries.",
        read=read,
        show=show,
    )


def show(data: Data, place: Place) -> Iterator[Html]:
    """Render the tables of pipelines and queries, and the last lines of each pipeline."""
    if data["refused"]:
        items = [
            tag("li", text(f"{file['file']}: {file['error']}: not started"))
            for file in data["refused"]
        ]
        yield tag("ul", *items, class_="bad")
    empty = "No pipeline is defined: put a TOML file into plugin.pipelines.directory."
    rows = [
        {**pipeline, "for_s": data["now"] - pipeline["since"]} for pipeline in data["pipelines"]
    ]
    columns = _pipeline_columns(place)
    yield from table("pipelines", columns, rows, key=itemgetter("name"), empty=empty)
    yield tag("h2", text("Queries"))
    yield from table(
        "queries",
        _QUERIES,
        _queries(data),
        key=lambda row: f"{row['pipeline']}/{row['id']}",
        empty="No query has posted its progress.",
    )
    for pipeline in data["pipelines"]:
        yield from _lines(pipeline)


def _queries(data: Data) -> Iterator[Row]:
    for pipeline in data["pipelines"]:
        for query in pipeline["queries"]:
            yield {**query, "pipeline": pipeline["name"], "age_s": data["now"] - query["at"]}


def _pipeline_columns(place: Place) -> tuple[Column, ...]:
    return (
        Column(head="pipeline", show=lambda row: _name(row, place)),
        Column(head="state", show=_state),
        figures("for_s", "for s"),
        figures("restarts", "restarts"),
        figures("status", "status", about="exit status of the last process; negative: signal"),
        figures("pid", "process group"),
        Column(head="command", show=lambda row: shown(" ".join(row["command"]))),
        words("restart", "restart", "time of the next start"),
    )


def _name(row: Row, place: Place) -> Html:
    return place.link(row["name"], "pipelines", name=row["name"])


def _state(row: Row) -> Html:
    reason = f": {row['error']}" if row["error"] else ""
    bad = row["state"] in ("paused", "failed")
    return tag("span", text(f"{row['state']}{reason}"), class_="bad" if bad else None)


def _offsets(row: Row) -> Html:
    parts = []
    for source in row["sources"]:
        ends: Mapping[str, int] = source["end"]
        some = list(ends.items())[:_SHOWN_OFFSETS]
        parts += [tag("div", text(f"{name}: {offset}")) for name, offset in some]
        if hidden := source["partitions"] - len(some):
            parts.append(tag("div", text(f"{hidden} more partitions")))
    return join(parts) if parts else DASH


def _phases(row: Row) -> Html:
    phases: Mapping[str, float] = row["phases_ms"]
    return join(
        tag("div", text(f"{name} "), number(milliseconds)) for name, milliseconds in phases.items()
    )


def _query_state(row: Row) -> Html:
    reason = f": {row['error'].partition(chr(10))[0][:300]}" if row["error"] else ""
    return tag("span", text(f"{row['state']}{reason}"), class_="bad" if row["error"] else None)


_QUERIES: Final = (
    words("pipeline", "pipeline"),
    Column(head="query", show=lambda row: shown(row["name"] or row["id"])),
    Column(head="state", show=_query_state),
    figures("batch", "batch"),
    figures("rows", "rows"),
    figures("input_rows_per_s", "in rows/s", digits=1),
    figures("processed_rows_per_s", "processed rows/s", digits=1),
    figures("lag", "lag", about="records that it had not read at its last batch"),
    Column(head="offsets", show=_offsets),
    Column(head="phases, ms", show=_phases),
    figures("age_s", "posted s ago", digits=1),
)


def _lines(pipeline: Row) -> Iterator[Html]:
    """Render the last lines, folded unless the pipeline failed."""
    name, is_open = pipeline["name"], pipeline["state"] in ("paused", "failed")
    head = tag("summary", text(f"{name}: last lines"))
    yield join([begin("details", id=f"lines-{name}", open=is_open), head, begin("pre")])
    lines: Sequence[str] = pipeline["lines"]
    for start in range(0, len(lines), _A_PIECE):
        yield join(join([text(line), Html("\n")]) for line in lines[start : start + _A_PIECE])
    yield Html("</pre></details>")
