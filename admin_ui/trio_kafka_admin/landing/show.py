"""The landing page as HTML."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from trio_kafka.introspect.snapshots import HOPS
from trio_kafka_admin.hop_words import HOP_WORDS
from trio_kafka_admin.landing.show_findings import show_findings
from trio_kafka_admin.landing.show_picture import show_picture
from trio_kafka_admin.markup import Html, join, tag, text
from trio_kafka_admin.page import Data, Place
from trio_kafka_admin.table import Column, figures, number, table, words


def show(data: Data, place: Place) -> Iterator[Html]:
    """Yield headline, findings, picture, and the tables below them."""
    headline = data["headline"]
    yield tag("p", text(headline["sentence"]), class_="headline")
    yield tag("p", text(f"{headline['more']}."), class_="more")
    yield from show_findings(data, place)
    yield from show_picture(data, place)
    yield Html('<div class="tables"><div>')
    yield from _requests(data)
    yield Html("</div><div>")
    yield from _loops(data)
    yield _facts(data)
    yield Html("</div></div>")


def _requests(data: Data) -> Iterator[Html]:
    yield tag("h2", text("Requests"))
    busy = [row for row in data["apis"] if row["per_s"]]
    idle = [row for row in data["apis"] if not row["per_s"]]
    of_api = itemgetter("plane", "api")
    columns = _of_planes(data, _APIS)
    yield from table("apis", columns, busy, key=of_api, empty="No request has come.")
    if idle:
        names = "1 API" if len(idle) == 1 else f"{len(idle)} APIs"
        yield Html('<details id="idle">')
        yield tag("summary", text(f"{names} without a request now"))
        yield from table("idle-apis", columns, idle, key=of_api, empty="")
        yield Html("</details>")


def _loops(data: Data) -> Iterator[Html]:
    yield tag("h2", text("Loops"))
    key = itemgetter("plane")
    yield from table("loops", _LOOPS, data["loops"], key=key, empty="No plane is running.")
    yield tag(
        "p",
        text(f"Rates and means are of the last {data['seconds']:.1f} s, times in ms."),
        class_="more",
    )


def _of_planes(data: Data, columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns; that of the plane only if there are several."""
    planes = {row["plane"] for row in (*data["loops"], *data["apis"])}
    return columns if len(planes) > 1 else [entry for entry in columns if entry.head != "plane"]


def _facts(data: Data) -> Html:
    facts = {
        "broker": data["node_id"],
        "cluster": data["cluster_id"],
        "trio-kafka": data["version"],
        "records by": data["records_by"],
        "listeners": " ".join(data["listeners"]),
        **data["counts"],
    }
    parts = [join([tag("dt", text(name)), tag("dd", text(fact))]) for name, fact in facts.items()]
    return tag("dl", *parts, class_="facts")


def _hop(hop: str) -> Column:
    return Column(
        head=hop.replace("_", " "),
        show=lambda row: number(row["hops_ms"][hop], 2),
        sort=lambda row: row["hops_ms"][hop],
        number=True,
        about=f"mean ms: {HOP_WORDS[hop]}",
    )


_LOOPS: Final = (
    words("plane", "plane"),
    figures("connections", "connections"),
    figures("passes_per_s", "passes/s", digits=1),
    figures("busy_percent", "busy %", digits=1, about="share of time in which the loop was busy"),
    figures("wake_ms", "wake ms", digits=3, about="mean time from wake-up to run"),
    figures("lag_ms", "lag ms", digits=1, about="longest recent pass of the loop"),
    figures("tasks", "tasks"),
)
_APIS: Final = (
    words("api", "API"),
    words("plane", "plane"),
    figures("per_s", "/s", digits=1),
    *(_hop(hop) for hop in HOPS),
    figures("total_ms", "total ms", digits=2),
    figures("total_max_ms", "max ms", digits=1, about="since the start"),
    figures("count", "count", about="since the start"),
)
