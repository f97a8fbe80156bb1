import os

import pytest

from tests.benchmarks.figures import Figure, Meter, best, rate
from tests.benchmarks.server import Server


def test_best_run_has_the_lowest_cost_and_the_highest_rate() -> None:
    slow = {"CPU": Figure(9.0, "µs"), "requests": rate(100, "/s")}
    busy = {"CPU": Figure(4.0, "µs"), "requests": rate(80, "/s")}

    assert best([slow, busy]) == {"CPU": Figure(4.0, "µs"), "requests": rate(100, "/s")}


@pytest.mark.parametrize(
    ("ours", "theirs", "worse"),
    [
        (Figure(10, "µs"), Figure(5, "µs"), 2.0),
        (Figure(5, "µs"), Figure(10, "µs"), 0.5),
        (rate(100, "/s"), rate(300, "/s"), 3.0),
        (rate(300, "/s"), rate(100, "/s"), 1 / 3),
        (Figure(1, "kB"), Figure(0, "kB"), float("inf")),
    ],
)
def test_worse_by_is_above_1_for_a_higher_cost_and_for_a_lower_rate(
    ours: Figure, theirs: Figure, worse: float
) -> None:
    assert ours.worse_by(theirs) == pytest.approx(worse)


def test_a_meter_counts_the_cpu_time_of_the_server() -> None:
    with Meter(Server(os.getpid())) as meter:
        sum(range(300_000))

    assert 0 < meter.server_cpu_s <= meter.wall_s * (os.cpu_count() or 1)
    assert meter.client_cpu_s > 0
    assert meter.requests(10)["requests"].value == pytest.approx(10 / meter.wall_s)
    assert meter.transfer("fetch", 10**6)["fetch"].value == pytest.approx(1 / meter.wall_s)
