"""Loads: what two looks at a tree say of loops, requests and queues."""

from trio_kafka.introspect.snapshots import (
    HOPS,
    WORKING,
    NodeSnapshot,
    TreeSnapshot,
    api_loads,
    loops,
    queues,
    rate,
)
from trio_kafka.introspect.tree import Figures

PLANE = ("broker-1", "plane data")
TURN = (*PLANE, "loop")
FETCH = (*PLANE, "requests", "Fetch")
CHANNEL = (*PLANE, "request-channel", "requests")
LIMITER = (*PLANE, "request-handlers", "num.io.threads")


def look_at(at: float, count: int) -> TreeSnapshot:
    turn: Figures = {
        "passes": 10 * count,
        "busy_s": 0.125 * count,
        "lag_ms": 3.0,
        "tasks": 44,
        "wake_ms": 2.0 * count,
        "wakes": count,
    }
    fetch: Figures = {"count": 5 * count, "total_ms": 10.0 * count, "total_max_ms": 9.0}
    fetch = {**fetch, **{f"{hop}_ms": n * count for n, hop in enumerate(HOPS)}}
    queue: Figures = {"depth": 2, "bound": 500, "high_water": 7, "items": count, "oldest_s": 0.25}
    limiter: Figures = {"waiting": 1, "tokens": 8, "borrowed": 6}
    nodes = {
        TURN: NodeSnapshot("part", "loop", turn),
        FETCH: NodeSnapshot("part", "Fetch", fetch),
        CHANNEL: NodeSnapshot("channel", "requests", queue),
        LIMITER: NodeSnapshot("limiter", "num.io.threads", limiter),
        (*PLANE, "listener", "p-0"): NodeSnapshot("selector", "p-0", {"connections": 3}),
        (*PLANE, "listener", "p-1"): NodeSnapshot("selector", "p-1", {"connections": 4}),
        ("broker-1", "plane control", "p-0"): NodeSnapshot("selector", "p-0", {"connections": 9}),
        ("broker-1", "replicas", "Fetch"): NodeSnapshot("purgatory", "Fetch", {"waiting": 4}),
    }
    return TreeSnapshot(at, nodes)


def test_share_of_a_loop_that_a_virtual_clock_measures_is_unknown() -> None:
    before, after = look_at(100.0, 1), look_at(102.0, 3)
    for look in (before, after):
        for node in look.nodes.values():
            if node.name == "loop":
                node.figures["idle_s"] = 0.0

    [loop] = loops(before, after)

    assert loop.busy_percent is None


def test_loop_is_busy_for_its_share_of_the_time_between_two_snapshots() -> None:
    [loop] = loops(look_at(100.0, 1), look_at(102.0, 3))

    assert (loop.plane, loop.connections, loop.tasks) == ("plane data", 7, 44)
    assert (loop.passes_per_s, loop.busy_percent) == (10.0, 12.5)
    assert (loop.wake_ms, loop.lag_ms) == (2.0, 3.0)


def test_single_snapshot_has_no_rates_and_means_since_the_start() -> None:
    after = look_at(100.0, 4)
    [loop], [fetch], waiting = loops(None, after), api_loads(None, after), queues(None, after)

    assert (loop.passes_per_s, loop.busy_percent, loop.wake_ms) == (None, None, 2.0)
    assert (fetch.per_s, fetch.total_ms, fetch.count) == (None, 2.0, 20)
    assert {row.done_per_s for row in waiting} == {None}


def test_mean_covers_the_requests_that_ended_between_two_snapshots() -> None:
    [fetch] = api_loads(look_at(100.0, 1), look_at(102.0, 3))

    assert (fetch.plane, fetch.api, fetch.count, fetch.per_s) == ("plane data", "Fetch", 15, 5.0)
    assert fetch.hops_ms == {hop: n / 5 for n, hop in enumerate(HOPS)}
    assert (fetch.total_ms, fetch.total_max_ms) == (2.0, 9.0)


def test_most_requested_api_between_two_snapshots_is_first() -> None:
    before, after = look_at(0.0, 1), look_at(1.0, 2)
    rare = {"count": 900, "total_ms": 900.0}
    path = (*PLANE, "requests", "Produce")
    before = TreeSnapshot(0.0, {**before.nodes, path: NodeSnapshot("part", "Produce", rare)})
    after = TreeSnapshot(1.0, {path: NodeSnapshot("part", "Produce", rare), **after.nodes})

    assert [api_load.api for api_load in api_loads(before, after)] == ["Fetch", "Produce"]
    assert [api_load.api for api_load in api_loads(None, after)] == ["Produce", "Fetch"]


def test_channels_limiters_and_purgatories_are_listed_as_queues() -> None:
    result = queues(look_at(100.0, 1), look_at(102.0, 3))

    channel, limiter, purgatory = result
    assert (channel.path, channel.kind) == ("plane data/request-channel/requests", "channel")
    assert (channel.waiting, channel.bound, channel.most) == (2, 500, 7)
    assert (channel.oldest_s, channel.done_per_s, channel.taken) == (0.25, 1.0, None)
    assert (limiter.waiting, limiter.taken, limiter.bound) == (1, 6, 8)
    assert (limiter.most, limiter.done_per_s) == (None, None)  # nobody counts
    assert (purgatory.waiting, purgatory.bound, purgatory.oldest_s) == (4, None, None)


def test_node_missing_in_the_first_snapshot_is_counted_from_zero() -> None:
    before = TreeSnapshot(100.0, {})

    assert rate(before, look_at(101.0, 1), TURN, figure="passes") == 10.0
    [fetch] = api_loads(before, look_at(101.0, 1))
    assert (fetch.per_s, fetch.total_ms) == (5.0, 2.0)


def test_counter_that_was_reset_has_rate_zero() -> None:
    before, after = look_at(100.0, 3), look_at(101.0, 1)

    assert rate(before, after, TURN, figure="passes") == 0.0
    [fetch] = api_loads(before, after)
    assert (fetch.per_s, fetch.total_ms) == (0.0, 0.0)


def test_two_snapshots_of_the_same_time_have_no_rate() -> None:
    assert rate(look_at(100.0, 1), look_at(100.0, 2), TURN, figure="passes") is None


def test_figure_that_is_not_a_number_counts_as_zero() -> None:
    node = NodeSnapshot("part", "one", {"text": "7", "nothing": None})

    assert (node.number("text"), node.number("nothing"), node.number("missing")) == (0, 0, 0)


def test_snapshot_leaves_out_kinds_with_thousands_of_nodes() -> None:
    assert not {"log", "partition", "connection", "group", "member"} & set(WORKING)
