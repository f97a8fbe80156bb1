"""Requests wait in order, completions go first, and nobody who waits is forgotten."""

import time
from collections import deque
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from trio_kafka.introspect.tree import Node
from trio_kafka.network.channel import RequestChannel
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.testing.planes import bare_request, numbers

ROOT = Node("plane", "plane")
PURGATORY = Purgatory("Test", Timers(ROOT), ROOT)


def channel(bound: int = 3) -> RequestChannel:
    return RequestChannel(bound, Node("plane", "plane"), time.perf_counter)


def delayed() -> Delayed:
    return Delayed((), 0.0, lambda timed_out: "x", purgatory=PURGATORY)


async def test_completions_are_taken_before_requests_and_requests_in_order() -> None:
    lane = channel()
    for number in range(3):
        lane.offer(bare_request(number))
    done = delayed()
    lane.complete(done)

    assert lane.take_nowait() is done
    assert numbers([lane.take_nowait() for _ in range(3)]) == [0, 1, 2]
    assert lane.take_nowait() is None


async def test_a_full_channel_refuses_requests_and_calls_registered_waiters_when_room_is_free() -> (
    None
):
    lane = channel(2)
    lane.offer(bare_request(0))
    lane.offer(bare_request(1))
    with pytest.raises(trio.WouldBlock):
        lane.offer(bare_request(2))
    called: list[str] = []
    lane.call_when_room(lambda: called.append("first"))
    lane.call_when_room(lambda: called.append("second"))

    lane.complete(delayed())
    lane.take_nowait()
    assert called == []
    await lane.take()
    assert called == ["first"]
    lane.take_nowait()
    assert called == ["first", "second"]


async def test_a_called_registration_that_closes_passes_its_room_to_the_next() -> None:
    lane = channel(1)
    lane.offer(bare_request(0))
    called: list[str] = []
    first = lane.call_when_room(lambda: called.append("first"))
    lane.call_when_room(lambda: called.append("second"))
    lane.take_nowait()
    assert called == ["first"]

    first.close()
    first.close()

    assert called == ["first", "second"]
    assert lane.waiting == 0


async def test_a_registration_that_closes_before_its_call_is_not_called() -> None:
    lane = channel(1)
    lane.offer(bare_request(0))
    called: list[str] = []
    first = lane.call_when_room(lambda: called.append("first"))
    lane.call_when_room(lambda: called.append("second"))

    first.close()
    first.close()
    lane.take_nowait()

    assert called == ["second"]


async def test_closing_a_registration_that_used_its_room_does_not_pass_room_on() -> None:
    lane = channel(1)
    lane.offer(bare_request(0))
    called: list[str] = []
    first = lane.call_when_room(lambda: called.append("first"))
    second = lane.call_when_room(lambda: called.append("second"))
    lane.take_nowait()

    lane.offer(bare_request(1))
    first.close()

    assert called == ["first"]
    assert lane.waiting == 1
    second.close()


async def test_a_completion_is_accepted_by_a_full_channel_and_taken_first(
    nursery: trio.Nursery,
) -> None:
    lane = channel(1)
    got: list[Any] = []

    async def handler() -> None:
        got.append(await lane.take())

    nursery.start_soon(handler)
    await wait_all_tasks_blocked()
    assert lane.idle
    lane.offer(bare_request(0))
    assert not lane.idle
    lane.offer(bare_request(1))
    done = delayed()
    lane.complete(done)
    await wait_all_tasks_blocked()

    assert numbers(got) == [0]
    assert lane.take_nowait() is done


async def test_many_completions_wake_one_handler_and_all_are_taken(nursery: trio.Nursery) -> None:
    lane = channel()
    got: list[Any] = []

    async def handler() -> None:
        while True:
            got.append(lane.take_nowait() or await lane.take())
            await trio.lowlevel.checkpoint()

    for _ in range(4):
        nursery.start_soon(handler)
    await wait_all_tasks_blocked()
    for _ in range(20):
        lane.complete(delayed())
    await wait_all_tasks_blocked()

    assert len([item for item in got if item is not None]) == 20
    assert got.count(None) == 1
    assert lane.idle
    nursery.cancel_scope.cancel()


async def test_a_cancelled_handler_is_not_counted_as_idle() -> None:
    lane = channel()
    with trio.move_on_after(0):
        await lane.take()
    async with trio.open_nursery() as inner:
        inner.start_soon(lane.take)
        await wait_all_tasks_blocked()
        assert lane.requests.idle == 1
        inner.cancel_scope.cancel()

    assert lane.requests.idle == 0
    lane.offer(bare_request(5))
    assert lane.requests.queued == 1
    assert numbers([lane.take_nowait()]) == [5]


async def test_channel_statistics_show_bound_depth_high_water_and_items() -> None:
    lane = channel(5)
    for number in range(4):
        lane.offer(bare_request(number))
    lane.take_nowait()
    now = lane.requests

    assert (now.bound, now.queued, now.high_water, now.items) == (5, 3, 4, 4)


@given(st.lists(st.sampled_from("oct"), max_size=40))
def test_requests_and_completions_keep_their_own_order_in_any_interleaving(
    events: list[str],
) -> None:
    async def main() -> None:
        lane = channel(3)
        requests: deque[Any] = deque()
        completions: deque[Any] = deque()
        for event in events:
            if event == "o":
                request = bare_request()
                try:
                    lane.offer(request)
                except trio.WouldBlock:
                    assert len(requests) == 3
                else:
                    requests.append(request)
            elif event == "c":
                completions.append(delayed())
                lane.complete(completions[-1])
            else:
                want = completions or requests
                assert lane.take_nowait() is (want.popleft() if want else None)
            assert lane.requests.queued == len(requests)
        await trio.lowlevel.checkpoint()

    trio.run(main)
