"""Recordings of steps of tasks and of requests."""

from collections.abc import Iterator
from itertools import count, pairwise

import trio

from trio_kafka.introspect.recording import MOST_LANES, OTHERS, Recording
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Node


def ticking() -> Iterator[float]:
    return map(float, count())


def metrics() -> RequestMetrics:
    return RequestMetrics(Node("requests", "part"), lambda: {3: "Metadata"}, elapsed=lambda: 0.0)


async def turns(number: int) -> None:
    for _ in range(number):
        await trio.lowlevel.checkpoint()


async def test_steps_of_tasks_are_recorded_in_order_by_the_name_of_the_task() -> None:
    clock = ticking()
    recording = Recording(lambda: next(clock))

    with recording.running([]):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(turns, 2, name="first")
            nursery.start_soon(turns, 3, name="second")
    steps = list(recording.steps())

    assert [recording.lanes[lane] for lane, _, _ in steps].count("first") == 3
    assert [recording.lanes[lane] for lane, _, _ in steps].count("second") == 4
    assert all(begin < end for _, begin, end in steps)
    assert all(before[2] < after[1] for before, after in pairwise(steps))
    assert recording.began < steps[0][1]
    assert steps[-1][2] < recording.ended


async def test_the_lane_of_a_time_is_the_task_that_ran_then() -> None:
    clock = ticking()
    recording = Recording(lambda: next(clock))
    with recording.running([]):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(turns, 2, name="worker")

    for lane, begin, end in recording.steps():
        assert recording.lane_at(begin) == lane
        assert recording.lane_at((begin + end) / 2) == lane
        assert recording.lane_at(end) == lane
        assert recording.lane_at(end + 0.5) is None
    assert recording.lane_at(-1.0) is None


async def test_requests_that_end_while_it_runs_are_recorded_with_plane_and_api() -> None:
    requests = metrics()
    recording = Recording(lambda: 0.0)
    during = Stamps(received=1.0, begun=2.0, code=3 << 16)

    with recording.running([("data", requests)]):
        assert requests.log is not None
        requests.log(during)

    assert requests.log is None
    assert recording.requests == [("data", "Metadata", during)]


async def test_a_full_recording_counts_what_it_leaves_out() -> None:
    requests = metrics()
    recording = Recording(lambda: 0.0, most_steps=2, most_requests=1)

    with recording.running([("data", requests)]):
        assert requests.log is not None
        requests.log(Stamps(received=1.0, begun=2.0))
        requests.log(Stamps(received=3.0, begun=4.0))
        await turns(5)  # the first and the last step are not whole

    assert len(recording) == 2
    assert recording.omitted_steps == 2
    assert len(recording.requests) == 1
    assert recording.omitted_requests == 1


async def test_tasks_of_too_many_names_share_a_lane() -> None:
    recording = Recording(lambda: 0.0)

    with recording.running([]):
        async with trio.open_nursery() as nursery:
            for number in range(MOST_LANES + 50):
                nursery.start_soon(turns, 1, name=f"task-{number}")

    assert len(recording.lanes) == MOST_LANES + 1
    assert recording.lanes[-1] == OTHERS
    assert len(recording) >= 2 * (MOST_LANES + 50)
