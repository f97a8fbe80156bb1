"""Times of hops: each from its neighbours, and together the whole."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.request_metrics import HOPS, RECENT, TOGETHER, ApiMetrics, RequestMetrics
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Node


@given(st.lists(st.integers(0, 1000), min_size=6, max_size=6))
def test_hops_of_a_request_sum_to_its_total_time(steps: list[int]) -> None:
    at = [1.0 + sum(steps[: n + 1]) for n in range(6)]
    sums = ApiMetrics()
    sums.add(
        Stamps(received=at[0], begun=at[1], handled=at[2], answered=at[3], sending=at[4]), at[5]
    )
    sums.settle()

    hops = [
        sums.sums["queue"],
        sums.sums["local"],
        sums.sums["remote"],
        sums.sums["response_queue"],
        sums.sums["send"],
    ]
    assert hops == steps[1:]
    assert sums.sums["total"] == sum(steps[1:])
    maxima = [
        sums.longest["queue"],
        sums.longest["local"],
        sums.longest["remote"],
        sums.longest["response_queue"],
        sums.longest["send"],
        sums.longest["total"],
    ]
    assert maxima == [*steps[1:], sum(steps[1:])]


@given(st.lists(st.lists(st.integers(0, 50), min_size=6, max_size=6), max_size=2 * TOGETHER + 1))
def test_requests_settled_together_give_the_same_sums_as_settled_separately(
    all_of: list[Any],
) -> None:
    alone, together = ApiMetrics(), ApiMetrics()
    for steps in all_of:
        at = [1.0 + sum(steps[: n + 1]) for n in range(6)]
        for sums in (alone, together):
            throttled = float(steps[0])
            stamps = Stamps(
                received=at[0], begun=at[1], handled=at[2], answered=at[3], sending=at[4]
            )
            stamps.throttled_s = throttled
            sums.add(stamps, at[5])
        alone.settle()

    assert alone.figures() == together.figures()
    assert together.count == len(all_of)
    for sums in (alone, together):
        assert len(sums.recent.latest) == min(len(all_of), RECENT)
    ended = [
        [request_stamps.sent for request_stamps in sums.recent.slowest()]
        for sums in (alone, together)
    ]
    assert ended[0] == ended[1]


def test_request_metrics_are_settled_after_a_fixed_number_of_requests() -> None:
    sums = ApiMetrics()
    for _ in range(TOGETHER):
        assert sums.count == 0
        sums.add(Stamps(received=0.0, begun=0.0), 1.0)

    assert sums.count == TOGETHER


def test_request_times_are_summed_and_maxima_kept() -> None:
    sums = ApiMetrics()
    for local in (0.003, 0.001):
        end = 1.0 + local
        sums.add(
            Stamps(
                received=1.0, begun=1.0, handled=end, answered=end, sending=end, throttled_s=0.5
            ),
            end,
        )

    figures = sums.figures()
    assert figures["count"] == 2
    assert round(sums.sums["local"] * 1e3, 6) == 4.0
    assert round(sums.longest["local"] * 1e3, 6) == 3.0
    assert figures["throttle_ms"] == 1000.0
    assert set(figures) == {"count"} | {f"{hop}{end}_ms" for hop in HOPS for end in ("", "_max")}


def test_each_api_has_a_tree_node_with_its_name() -> None:
    node = Node("requests", "part")
    times = RequestMetrics(node, {18: "ApiVersions"}.copy, elapsed=lambda: 2.0)
    stamps = Stamps(received=0.0, begun=0.0, handled=1.0, answered=1.0, sending=1.0)
    times.of(18).add(stamps, 1.0)
    times.of(18).add(stamps, 1.0)
    times.of(7).add(stamps, 1.0)

    assert {key: sums.count for key, sums in times.settled()} == {18: 2, 7: 1}
    assert [child.name for child in node.children] == ["ApiVersions", "api-7"]
    assert times.of(18).count == 2


def test_several_followers_get_finished_requests_until_they_unfollow() -> None:
    times = RequestMetrics(Node("requests", "part"), elapsed=lambda: 1.0)
    request_stamps: list[Stamps] = []
    other: list[Stamps] = []
    assert times.log is None

    for follower in (request_stamps.append, other.append, request_stamps.append):
        times.follow(follower)
    assert times.log is not None
    times.log(Stamps(received=1.0, begun=1.0))
    times.unfollow(request_stamps.append)
    times.unfollow(request_stamps.append)
    times.log(Stamps(received=2.0, begun=2.0))
    assert [len(request_stamps), len(other)] == [1, 2]

    times.unfollow(other.append)
    assert times.log is None
