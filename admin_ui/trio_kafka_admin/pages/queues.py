"""The page of queues: channels, limiters and purgatories, the fullest first."""

from collections.abc import Iterator
from operator import itemgetter

import attrs

from trio_kafka.introspect.snapshots import QueueLoad, queues
from trio_kafka_admin.broker_reader import BrokerReader
from trio_kafka_admin.markup import Html, tag, text
from trio_kafka_admin.page import Data, Page, Place
from trio_kafka_admin.query import Query
from trio_kafka_admin.table import DASH, Column, Row, figures, table, words


async def read(reader: BrokerReader, query: Query) -> Data:
    before, after = await reader.queues.two()
    most = query.limit(reader.max_rows)
    top = next(iter(after.nodes))[0]
    ranked = sorted(queues(before, after), key=lambda queue: (-fill_of(queue), -queue.waiting))
    rows = [_row(queue, top) for queue in ranked[:most]]
    return {
        "seconds": None if before is None else after.at - before.at,
        "total": len(ranked),
        "queues": rows,
    }


def fill_of(queue: QueueLoad) -> float:
    """Return the used share of a bound, 0 to 1; 0 without a bound."""
    if not queue.bound:
        return 0.0
    return (queue.waiting if queue.taken is None else queue.taken) / queue.bound


def _row(queue: QueueLoad, top: str) -> dict[str, object]:
    return {**attrs.asdict(queue), "fill": fill_of(queue), "node": f"{top}/{queue.path}"}


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
    empty = "There are no queues."
    yield from table("queues", columns, data["queues"], key=itemgetter("node"), empty=empty)
    left_out = data["total"] - len(data["queues"])
    if left_out:
        yield tag("p", text(f"{left_out} more, no fuller than these: use ?limit="), class_="more")


def _meter(row: Row) -> Html:
    if not row["bound"]:
        return DASH
    percent = round(100 * row["fill"])
    label = f"{percent} %"
    return tag("meter", text(label), value=percent, max=100, high=80, optimum=0, title=label)


PAGE = Page(
    name="queues",
    title="Queues",
    order=30,
    about="Every channel, limiter and purgatory: items waiting now, and the highest number so far.",
    read=read,
    show=show,
)
