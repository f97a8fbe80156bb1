"""A thread that watches the loop: it rests, is rung, sees the loop's frame, and ends when told."""

import threading
import time

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.real.watchdog_thread import RealWatchdogThread
from trio_kafka.world.world import WatchdogThread

PATIENCE_S = 20.0


async def test_watchdog_thread_runs_beside_the_loop_until_cancelled() -> None:
    def watch(thread: WatchdogThread) -> None:
        threads.append(threading.get_ident())
        rests.append(thread.rest(None))

    threads: list[int] = []
    rests: list[bool] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(RealWorld(SkippingClock()).run_watchdog_thread, watch)
        nursery.cancel_scope.cancel()

    assert threads != [threading.get_ident()]
    assert rests == [False]


async def test_ring_ends_a_rest_of_the_watchdog_thread_also_before_the_rest_begins() -> None:
    thread = RealWatchdogThread()
    thread.ring()

    assert thread.rest(None)
    assert thread.rest(0.001)
    thread.end()
    assert not thread.rest(None)
    thread.close()


async def test_watchdog_sees_the_frames_of_the_watched_thread() -> None:
    watchdog = RealWatchdogThread()

    def look() -> list[str]:
        frame, result = watchdog.frame(), []
        while frame is not None:
            result.append(frame.f_code.co_name)
            frame = frame.f_back
        return result

    seen: list[str] = []
    thread = threading.Thread(target=lambda: seen.extend(look()))
    thread.start()
    thread.join()
    watchdog.close()

    assert "test_watchdog_sees_the_frames_of_the_watched_thread" in seen


async def test_starved_time_grows_and_does_not_count_sleep() -> None:
    thread = RealWatchdogThread()
    before, began = thread.starved_s(), time.monotonic()
    await trio.sleep(0.05)
    starved, took = thread.starved_s() - before, time.monotonic() - began
    thread.close()

    assert 0 <= starved < took


async def test_error_of_a_watchdog_thread_is_raised_in_the_nursery() -> None:
    def watch(thread: WatchdogThread) -> None:
        raise ValueError

    with pytest.RaisesGroup(ValueError, flatten_subgroups=True), trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(RealWorld(SkippingClock()).run_watchdog_thread, watch)
            await trio.sleep_forever()


async def test_starved_time_is_zero_without_scheduler_statistics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trio_kafka.world.real.watchdog_thread._open_statistics", lambda: None)
    thread = RealWatchdogThread()

    assert thread.starved_s() == 0.0
    thread.close()
