"""Progress that a child posts, and what a hostile one may post."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given, strategies

from tests.trio_kafka_builtin.pipelines.kit import PROGRESS, progress
from trio_kafka_builtin.pipelines.queries import MOST_QUERIES, ProgressError, Queries


def taken(*posts: Any) -> Queries:
    queries = Queries()
    for at, post in enumerate(posts):
        queries.take(post, float(at))
    return queries


def test_progress_is_kept_with_lag_rates_and_phases() -> None:
    [query] = taken(progress())
    shown = query.shown()

    assert (shown["state"], shown["batch"], shown["rows"]) == ("running", 3, 50)
    assert (shown["input_rows_per_s"], shown["processed_rows_per_s"]) == (10.5, 400.25)
    assert shown["phases_ms"] == {"addBatch": 80, "triggerExecution": 120}
    assert shown["lag"] == 101
    [source] = shown["sources"]
    assert source["end"] == {"orders-0": 40, "orders-1": 25}
    assert source["start"] == {"orders-0": 10, "orders-1": 5}
    assert (source["partitions"], shown["sink"]) == (2, "Noop")
    json.dumps(shown, allow_nan=False)


def test_rows_and_batches_of_progress_posts_are_summed() -> None:
    queries = Queries()
    started = {"event": "started", "query": {"id": "q-1", "name": "counts"}}

    assert queries.take(started, 1.0) == 0
    assert [queries.take(progress(batchId=n), 2.0 + n) for n in range(3)] == [50, 50, 50]
    [query] = queries
    assert (query.rows, query.batches, query.batch, query.at) == (150, 3, 2, 4.0)


def test_a_query_that_is_idle_or_ended_keeps_its_last_figures() -> None:
    idle = {"event": "idle", "query": {"id": "q-1"}}
    over = {"event": "terminated", "query": {"id": "q-1", "exception": "boom\nat"}}

    [query] = taken(progress(), idle)
    assert (query.state, query.rows, query.lag, query.name) == ("idle", 50, 101, "counts")
    [query] = taken(progress(), over)
    assert (query.state, query.error, query.batch) == ("terminated", "boom\nat", 3)


@pytest.mark.parametrize(
    ("latest", "lag"),
    [
        (None, None),
        ("none", None),
        ({"orders": {"0": 41}}, 1),
        ('{"orders": {"0": 41, "1": 25}}', 1),
        ({"orders": {"0": 1, "7": 1000}}, 0),
        ({"file": 3}, None),
    ],
)
def test_the_lag_counts_only_partitions_with_a_latest_offset(latest: Any, lag: Any) -> None:
    [source] = PROGRESS["sources"]

    [query] = taken(progress(sources=[{**source, "latestOffset": latest}]))

    assert query.lag == lag


def test_a_partition_with_an_unknown_read_offset_has_no_lag() -> None:
    [source] = PROGRESS["sources"]
    ends = {"orders": {"0": -2, "1": 40}}
    latest = {"orders": {"0": 1000, "1": 41}}

    [query] = taken(progress(sources=[{**source, "endOffset": ends, "latestOffset": latest}]))

    assert query.lag == 1


def test_the_begin_marker_in_an_end_offset_is_not_counted_as_a_partition() -> None:
    [source] = PROGRESS["sources"]
    end = {"orders": {"0": 40}, 'began at {"orders":{"0":5}}': {}}

    [query] = taken(
        progress(sources=[{**source, "endOffset": end, "latestOffset": {"orders": {"0": 41}}}])
    )

    [shown] = query.shown()["sources"]
    assert (query.lag, shown["partitions"], shown["end"]) == (1, 1, {"orders-0": 40})


def test_infinite_and_nan_rates_become_none() -> None:
    [query] = taken(progress(inputRowsPerSecond=float("nan"), processedRowsPerSecond="NaN"))

    assert (query.input_rows_per_s, query.processed_rows_per_s) == (None, None)
    [query] = taken(progress(inputRowsPerSecond=float("inf"), processedRowsPerSecond=10**400))
    assert (query.input_rows_per_s, query.processed_rows_per_s) == (None, None)


@pytest.mark.parametrize(
    ("posted", "why"),
    [
        (None, "want an object with 'event'"),
        ([], "want an object"),
        ({"event": "dance", "query": {"id": "a"}}, "event is 'dance', want one of started"),
        ({"event": "progress"}, "want an object with 'query'"),
        ({"event": "progress", "query": []}, "want an object with 'id'"),
        ({"event": "progress", "query": {"id": 1}}, "id is a int, want a text"),
        ({"event": "progress", "query": {"id": "a"}}, "want an object with 'batchId'"),
        (progress(batchId="3"), "batchId is 3"),
        (progress(batchId=True), "batchId is True"),
        (progress(numInputRows=1 << 63), "numInputRows is 9223372036854775808"),
        (progress(numInputRows=-5), "numInputRows is -5"),
        (progress(durationMs=3), "durationMs is a int, want an object"),
        (progress(durationMs={"a": "b" * 9, "c": []}), "durationMs is a list"),
        (progress(sources={}), "sources is a dict, want a list"),
        (progress(sources=[1]), "source is a int"),
        (progress(sources=[{"endOffset": {"t": {"0": 1.5}}}]), "endOffset is 1.5"),
        (progress(sink="x"), "sink is a str"),
        (progress(name=["x"]), "name is a list"),
    ],
)
def test_an_invalid_progress_post_is_refused_and_changes_nothing(posted: Any, why: str) -> None:
    queries = taken(progress())
    before = [query.shown() for query in queries]

    with pytest.raises(ProgressError) as caught:
        queries.take(posted, 9.0)

    assert why in str(caught.value)
    assert [query.shown() for query in queries] == before
    assert queries.posts == 1


def test_the_memory_that_progress_posts_can_fill_is_bounded() -> None:
    many = {f"t{n}" * 1000: {str(p): 1 for p in range(10)} for n in range(2000)}
    source = {"description": "d" * 9999, "endOffset": many}
    post = progress(
        sources=[source] * 100,
        durationMs={f"p{n}": n for n in range(1000)},
        name="n" * 9999,
    )

    queries = taken(*(progress(id=f"q-{number}") for number in range(MOST_QUERIES + 5)), post)

    assert len(queries) == MOST_QUERIES
    query = list(queries)[-1]
    assert (len(query.sources), len(query.phases_ms), len(query.name)) == (20, 30, 500)
    shown = query.shown()
    assert len(shown["sources"][0]["end"]) == 200
    assert len(shown["sources"][0]["description"]) == 500
    [*_, ended] = taken({"event": "terminated", "query": {"id": "a", "exception": "e" * 9999}})
    assert len(ended.error) == 4000


ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text(),
    lambda inner: (
        strategies.lists(inner, max_size=3)
        | strategies.dictionaries(strategies.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    place=strategies.sampled_from([*PROGRESS, "exception", "endOffset", "latestOffset", "rows"]),
    value=ANYTHING,
    event=strategies.sampled_from(["progress", "started", "terminated", "idle"]),
)
def test_any_value_in_any_progress_field_is_accepted_or_refused(
    place: str, value: Any, event: str
) -> None:
    query = copy.deepcopy(PROGRESS)
    if place in ("endOffset", "latestOffset", "rows"):
        query["sources"][0][place] = value
    else:
        query[place] = value
    queries = Queries()
    try:
        queries.take({"event": event, "query": query}, 1.0)
    except ProgressError:
        assert len(queries) == 0
    else:
        json.dumps([entry.shown() for entry in queries], allow_nan=False)
