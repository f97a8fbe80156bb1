"""Progress of streaming queries, as a child's StreamingQueryListener posts it.

The child is not trusted: every text is cut, every number is checked, and the numbers of
queries, sources and partitions are bounded. Source of the form: `StreamingQueryProgress.json` of
Spark 4.3.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from math import isfinite
from typing import Any, Final

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.strict_json import parse_json

MOST_QUERIES: Final = 50
_MOST_SOURCES: Final = 20
_MOST_PHASES: Final = 30
_SHOWN_PARTITIONS: Final = 200
_LONGEST: Final = 500
_LONGEST_ERROR: Final = 4000
_LARGEST: Final = (1 << 63) - 1
Offsets = Mapping[str, Mapping[str, int]]
EVENTS: Final = ("started", "progress", "idle", "terminated")


class ProgressError(ValueError):
    """Post that is not a progress report; the message says what was found and what is wanted."""


@define(kw_only=True, eq=False)
class Source:
    """Source that a query reads.

    start, end: offsets by `topic-partition`, of some of its partitions.
    lag: records not read at its last batch; None: it does not report the latest offsets.
    """

    description: str
    rows: int = 0
    start: dict[str, int] = Factory(dict)
    end: dict[str, int] = Factory(dict)
    partitions: int = 0
    lag: int | None = None

    def shown(self) -> dict[str, object]:
        return {
            "description": self.description,
            "rows": self.rows,
            "start": dict(self.start),
            "end": dict(self.end),
            "partitions": self.partitions,
            "lag": self.lag,
        }


@define(kw_only=True, eq=False)
class Query:
    """A query of the child that runs now. at: seconds since 1970 of its last post; phases_ms: of
    its last batch.
    """

    id: str
    name: str = ""
    state: str = "started"
    batch: int = -1
    batches: int = 0
    rows: int = 0
    input_rows_per_s: float | None = None
    processed_rows_per_s: float | None = None
    phases_ms: dict[str, float] = Factory(dict)
    sources: list[Source] = Factory(list)
    sink: str = ""
    error: str = ""
    at: float = 0.0

    @property
    def lag(self) -> int | None:
        """Records not yet read, over all sources; None: no source reports it."""
        lags = [source.lag for source in self.sources if source.lag is not None]
        return sum(lags) if lags else None

    def shown(self) -> dict[str, object]:
        """Return the row of the page, ready for JSON."""
        names = ("id", "name", "state", "batch", "batches", "rows", "input_rows_per_s")
        fields = {name: getattr(self, name) for name in names}
        return {
            **fields,
            "processed_rows_per_s": self.processed_rows_per_s,
            "lag": self.lag,
            "phases_ms": dict(self.phases_ms),
            "sources": [source.shown() for source in self.sources],
            "sink": self.sink,
            "error": self.error,
            "at": self.at,
        }


class Queries:
    """Queries of one child, by id; beyond the limit, the oldest is removed."""

    def __init__(self) -> None:
        self.posts = 0
        self._queries: dict[str, Query] = {}

    def __iter__(self) -> Iterator[Query]:
        return iter(list(self._queries.values()))

    def __len__(self) -> int:
        return len(self._queries)

    def clear(self) -> None:
        """Remove all queries when another child starts."""
        self._queries.clear()

    def take(self, posted: object, at: float) -> int:
        """Take a post and return the rows that it adds.

        Raises ProgressError, and then changes nothing.
        """
        event = _field(posted, "event")
        if event not in EVENTS:
            raise ProgressError(f"event is {_cut(event)!r}, want one of {', '.join(EVENTS)}")
        posted_query = _field(posted, "query")
        query_id = _text(_field(posted_query, "id"), "id")
        before = self._queries.get(query_id)
        fields = _mapping(posted_query, "query")
        query = _read(fields, event=event, query_id=query_id, before=before)
        query.at = at
        self.posts += 1
        self._queries[query_id] = query
        while len(self._queries) > MOST_QUERIES:
            del self._queries[next(iter(self._queries))]
        return query.rows - (before.rows if before is not None else 0)


def _read(
    posted: Mapping[str, object], *, event: str, query_id: str, before: Query | None
) -> Query:
    old = before if before is not None else Query(id=query_id)
    query = Query(
        id=query_id,
        name=_text(posted.get("name") or old.name, "name"),
        state={"progress": "running"}.get(event, event),
        batch=old.batch,
        batches=old.batches,
        rows=old.rows,
        input_rows_per_s=old.input_rows_per_s,
        processed_rows_per_s=old.processed_rows_per_s,
        phases_ms=old.phases_ms,
        sources=old.sources,
        sink=old.sink,
        error=old.error,
    )
    if event == "terminated":
        query.error = _text(posted.get("exception") or "", "exception", _LONGEST_ERROR)
    elif event == "progress":
        query.batch = _whole(_field(posted, "batchId"), "batchId")
        query.batches += 1
        query.rows += _whole(posted.get("numInputRows", 0), "numInputRows")
        query.input_rows_per_s = _number(posted.get("inputRowsPerSecond"), "inputRowsPerSecond")
        query.processed_rows_per_s = _number(
            posted.get("processedRowsPerSecond"), "processedRowsPerSecond"
        )
        query.phases_ms = _phases(posted.get("durationMs"))
        query.sources = _sources(posted.get("sources"))
        query.sink = _text(_mapping(posted.get("sink"), "sink").get("description") or "", "sink")
    return query


def _sources(posted: object) -> list[Source]:
    if posted is None:
        return []
    if not isinstance(posted, list):
        raise ProgressError(f"sources is a {type(posted).__name__}, want a list")
    return [_source(_mapping(source, "source")) for source in posted[:_MOST_SOURCES]]


def _source(posted: Mapping[str, object]) -> Source:
    start = _offsets(posted.get("startOffset"), "startOffset")
    end = _offsets(posted.get("endOffset"), "endOffset")
    latest = _offsets(posted.get("latestOffset"), "latestOffset")
    return Source(
        description=_text(posted.get("description") or "", "description"),
        rows=_whole(posted.get("numInputRows", 0), "numInputRows"),
        start=_some(start),
        end=_some(end),
        partitions=sum(map(len, end.values())),
        lag=_behind(end, latest) if latest else None,
    )


def _offsets(offsets_of: Any, name: str) -> Offsets:
    """Check `{"topic": {"0": 12}}`, also as a text of JSON; another form of offset is none."""
    if isinstance(offsets_of, str):
        try:
            offsets_of = parse_json(offsets_of)
        except ValueError:
            return {}
    if not isinstance(offsets_of, dict):
        return {}
    for partitions in offsets_of.values():
        if not isinstance(partitions, dict):
            return {}
        # One pass in C for valid offsets: there may be thousands.
        offsets = partitions.values()
        if set(map(type, offsets)) - {int} or not _fit(offsets):
            for offset in offsets:
                _whole(offset, name)
    return offsets_of


def _fit(offsets: Collection[int]) -> bool:
    return not offsets or (min(offsets) >= -2 and max(offsets) <= _LARGEST)


def _behind(end: Offsets, latest: Offsets) -> int:
    """Return the number of records between two offsets, over partitions in both.

    A negative offset stands for a beginning or an end that is not known yet.
    """
    behind = 0
    for topic, partitions in latest.items():
        read = end.get(topic, {})
        behind += sum(
            offset - read[partition]
            for partition, offset in partitions.items()
            if offset > read.get(partition, offset) >= 0
        )
    return behind


def _some(offsets: Offsets) -> dict[str, int]:
    """Return the first offsets by `topic-partition`."""
    named = (
        (f"{_cut(topic)}-{_cut(partition)}", offset)
        for topic, partitions in offsets.items()
        for partition, offset in partitions.items()
    )
    return dict(islice(named, _SHOWN_PARTITIONS))


def _phases(posted: object) -> dict[str, float]:
    phases = list(_mapping(posted, "durationMs").items())[:_MOST_PHASES]
    return {_cut(name): _number(value, "durationMs") or 0.0 for name, value in phases}


def _field(posted: object, name: str) -> object:
    if not isinstance(posted, dict) or name not in posted:
        raise ProgressError(f"want an object with {name!r}")
    return posted[name]


def _mapping(posted: object, name: str) -> Mapping[str, object]:
    if posted is None:
        return {}
    if not isinstance(posted, dict):
        raise ProgressError(f"{name} is a {type(posted).__name__}, want an object")
    return posted


def _text(value: object, name: str, longest: int = _LONGEST) -> str:
    if not isinstance(value, str):
        raise ProgressError(f"{name} is a {type(value).__name__}, want a text")
    return value[:longest]


def _cut(value: object) -> str:
    return str(value)[:_LONGEST]


def _whole(value: object, name: str) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and -2 <= value <= _LARGEST:
        return value
    raise ProgressError(f"{name} is {_cut(value)[:40]}, want a whole number of 64 bits")


def _number(posted: object, name: str) -> float | None:
    """Parse a rate or a time; Spark writes NaN, also as text, for a rate over no time."""
    if posted is None or isinstance(posted, str):
        return None
    if isinstance(posted, bool) or not isinstance(posted, int | float):
        raise ProgressError(f"{name} is a {type(posted).__name__}, want a number")
    try:
        value = float(posted)
    except OverflowError:
        return None
    return value if isfinite(value) else None
