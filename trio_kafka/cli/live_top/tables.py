"""Tables of the screen: what each shows, and by which column it is sorted at first."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli.live_top.reading import Reading
from trio_kafka.introspect.snapshots import api_loads, queues
from trio_kafka.protocol.messages.k10010_describe_requests import RequestLife

Cell = str | float | None
"""A text, or a number, which may be missing."""


@frozen
class Column:
    """A column of a table. digits: of its numbers behind the point; None: it holds texts."""

    name: str
    digits: int | None = None


@frozen
class Table:
    """A table of the screen. order: number of the column that it is sorted by at first."""

    name: str
    columns: Sequence[Column]
    rows: Callable[[Reading], Iterator[tuple[Cell, ...]]]
    order: int


def _slowest(reading: Reading) -> Iterator[tuple[Cell, ...]]:
    for request in reading.slowest:
        yield (
            request.api_name,
            _client(request),
            request.total_us / 1e3,
            request.queue_us / 1e3,
            request.local_us / 1e3,
            request.remote_us / 1e3,
            (request.response_queue_us + request.send_us) / 1e3,
            request.ended_us / 1e6,
        )


def _in_flight(reading: Reading) -> Iterator[tuple[Cell, ...]]:
    for request in reading.in_flight:
        age_ms = request.age_us / 1e3
        yield request.api_name, _client(request), age_ms, request.stage, request.waits_for


def _lag(reading: Reading) -> Iterator[tuple[Cell, ...]]:
    for group in reading.groups:
        yield (
            group.group_id,
            group.state,
            group.members,
            group.lag,
            group.growth_per_s,
            group.catch_up_s,
        )


def _apis(reading: Reading) -> Iterator[tuple[Cell, ...]]:
    for load in api_loads(reading.before, reading.tree):
        name = load.api if load.plane == "plane data" else f"{load.api} ({load.plane})"
        yield name, load.per_s, load.total_ms, load.total_max_ms, load.count


def _queues(reading: Reading) -> Iterator[tuple[Cell, ...]]:
    for queue in queues(reading.before, reading.tree):
        yield (
            queue.path,
            queue.waiting,
            queue.bound,
            queue.most,
            queue.oldest_s,
            queue.done_per_s,
        )


def _client(request: RequestLife) -> str:
    return f"{request.client_id or '-'} {request.peer}"


TABLES: Final = (
    Table(
        "slowest",
        (
            *(Column("API"), Column("client"), Column("total ms", 1), Column("queue", 1)),
            *(Column("local", 1), Column("remote", 1), Column("answer", 1), Column("ago s", 0)),
        ),
        _slowest,
        2,
    ),
    Table(
        "in flight",
        (
            *(Column("API"), Column("client"), Column("age ms", 1)),
            *(Column("stage"), Column("waits for")),
        ),
        _in_flight,
        2,
    ),
    Table(
        "lag",
        (
            *(Column("group"), Column("state"), Column("members", 0), Column("lag", 0)),
            *(Column("growth/s", 1), Column("caught up in s", 0)),
        ),
        _lag,
        4,
    ),
    Table(
        "APIs",
        (
            *(Column("API"), Column("/s", 1), Column("mean ms", 3)),
            *(Column("longest ms", 1), Column("count", 0)),
        ),
        _apis,
        1,
    ),
    Table(
        "queues",
        (
            *(Column("queue"), Column("waiting", 0), Column("bound", 0), Column("most", 0)),
            *(Column("oldest s", 3), Column("done/s", 1)),
        ),
        _queues,
        1,
    ),
)


def ordered(
    rows: Sequence[tuple[Cell, ...]], columns: Sequence[Column], order: int, *, reverse: bool
) -> list[tuple[Cell, ...]]:
    """Return rows sorted by a column: numbers from the largest, texts from A; or the other way.

    Missing numbers are last in both directions. The sort is stable.
    """
    with_value = [row for row in rows if row[order] is not None]
    without = [row for row in rows if row[order] is None]
    is_number = columns[order].digits is not None
    with_value.sort(key=lambda row: row[order], reverse=is_number != reverse)  # type: ignore[arg-type,return-value]  # a column has one type
    return with_value + without


def text_of(cell: Cell, column: Column) -> str:
    """Return what a cell shows: a dash where there is no number."""
    if column.digits is None:
        return str(cell or "-")
    return "-" if cell is None else f"{float(cell):,.{column.digits}f}"
