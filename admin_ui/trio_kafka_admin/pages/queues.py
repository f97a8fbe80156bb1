"""The page of queues: channels, limiters and purgatories, the fullest first.

Those in which nothing has waited yet are folded. The queue of this UI is left out unless the
address says `own=1`.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Final

import attrs

from trio_kafka.introspect.snapshots import QueueLoad, queues
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, begin, join, tag, text
from trio_kafka_admin.own_nodes import is_own_queue
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.shapes import Tone, bar
from trio_kafka_admin.table import DASH, Column, Row, figures, table, words

_NEARLY_FULL: Final = 0.8


async def read(reader: BrokerReader, query: Query) -> Data:
    before, after = await reader.queues.two()
    most = query.limit(reader.max_rows)
    shows_own = bool(query.text("own"))
    top = next(iter(after.nodes))[0]
    loads = [
        queue
        for queue in queues(before, after)
        if shows_own or not is_own_queue(queue.path.split("/"))
    ]
    ranked = sorted(loads, key=_rank)
    return {
        "seconds": None if before is None else after.at - before.at,
        "total": len(ranked),
        "queues": [_row(queue, top) for queue in ranked[:most]],
    }


def _rank(queue: QueueLoad) -> tuple[bool, float, int, int]:
    """Return the sort key: queues in which something waits or has waited, the fullest first."""
    return not has_waited(queue), -fill_of(queue), -queue.waiting, -(queue.most or 0)


def has_waited(queue: QueueLoad) -> bool:
    """Return whether something waits now, or ever waited; of a limiter: whether it is in use."""
    return bool(queue.waiting or queue.most or queue.taken)


def fill_of(queue: QueueLoad) -> float:
    """Return the used share of a bound, 0 to 1; 0 without a bound."""
    if not queue.bound:
        return 0.0
    return (queue.waiting if queue.taken is None else queue.taken) / queue.bound


def _row(queue: QueueLoad, top: str) -> dict[str, object]:
    return {
        **attrs.asdict(queue),
        "fill": fill_of(queue),
        "waited": has_waited(queue),
        "node": f"{top}/{queue.path}",
    }


def show(data: Data, place: Place) -> Iterator[Html]:
    columns = (
        Column(
            head="what waits",
            show=lambda row: place.link(row["path"], "tree", path=row["node"]),
            about="its node in the tree",
        ),
        words("kind", "kind"),
        figures("waiting", "now"),
        figures("bound", "bound", about="of a limiter: its tokens"),
        Column(
            head="full",
            show=_meter,
            sort=lambda row: row["fill"],
            about="of a limiter: tokens in use",
        ),
        figures("most", "most", about="most that waited at once"),
        figures("oldest_s", "oldest s", digits=3),
        figures("done_per_s", "done/s", digits=1),
    )
    rows, key = data["queues"], itemgetter("node")
    used = [row for row in rows if row["waited"]]
    yield from table("queues", columns, used, key=key, empty="Nothing waits, nothing has waited.")
    if idle := [row for row in rows if not row["waited"]]:
        head = begin("details", id="idle")
        yield join([head, tag("summary", text(f"{len(idle)} in which nothing has waited yet"))])
        yield from table("idle-queues", columns, idle, key=key, empty="")
        yield Html("</details>")
    left_out = data["total"] - len(rows)
    if left_out:
        yield tag("p", text(f"{left_out} more, no fuller than these: use ?limit="), class_="more")


def _meter(row: Row) -> Html:
    if not row["bound"]:
        return DASH
    tone: Tone = "bad" if row["fill"] >= 1 else "warn" if row["fill"] >= _NEARLY_FULL else "info"
    return bar(row["fill"], f"{round(100 * row['fill'])} %", tone)


PAGE = Page(
    name="queues",
    title="Queues",
    order=42,
    about="Channels, limiters and purgatories: what waits now, and the most that ever waited.",
    read=read,
    show=show,
)
