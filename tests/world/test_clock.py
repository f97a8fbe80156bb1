"""Time that can be moved."""

import threading
import time

import pytest
import trio

from trio_kafka.world.clock import EPOCH, SkippingClock
from trio_kafka.world.real import RealWorld


def test_virtual_time_stands_still_while_a_task_can_run_and_jumps_to_the_next_deadline():
    async def main():
        for _ in range(100):
            await trio.lowlevel.checkpoint()
        before = trio.current_time()
        await trio.sleep(86_400)
        return before, trio.current_time(), clock.wall(), clock.elapsed()

    clock = SkippingClock(virtual=True)

    assert trio.run(main, clock=clock) == (0.0, 86_400.0, EPOCH + 86_400, 86_400.0)


def test_skipping_moves_wall_and_monotonic_time_and_not_elapsed():
    clock = SkippingClock()
    now, wall, elapsed = clock.current_time(), clock.wall(), clock.elapsed()

    clock.skip(3600)

    assert 3600 <= clock.current_time() - now < 3601
    assert 3600 <= clock.wall() - wall < 3601
    assert clock.elapsed() - elapsed < 1


def test_time_does_not_go_back():
    with pytest.raises(ValueError, match="cannot skip"):
        SkippingClock().skip(-1)


def test_a_skip_too_small_for_a_float_still_moves_the_clock():
    clock = SkippingClock(virtual=True)
    clock.skip(1e12)

    clock.skip(1e-12)

    assert clock.current_time() > 1e12


def test_the_real_clock_does_not_jump_by_itself():
    async def main():
        await trio.sleep(0.01)

    clock = SkippingClock()
    start = time.perf_counter()

    trio.run(main, clock=clock)

    assert time.perf_counter() - start >= 0.01
    assert clock.skipped == 0


def test_advance_waits_for_threads_at_each_step():
    async def main():
        ran = []
        world = RealWorld(clock)

        async def job(period):
            while True:
                await trio.sleep(period)
                await world.run_in_thread(ran.append, period)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(job, 60)
            nursery.start_soon(job, 600)
            await trio.sleep(0.001)
            await clock.advance(3601)
            nursery.cancel_scope.cancel()
        return ran.count(60), ran.count(600)

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == (60, 6)


def test_advance_does_not_pass_a_deadline_while_a_thread_works():
    async def main():
        gate = threading.Event()
        threading.Timer(0.02, gate.set).start()
        seen = []

        async def look():
            await trio.sleep(50)
            seen.append(gate.is_set())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(RealWorld(clock).run_in_thread, gate.wait)
            nursery.start_soon(look)
            await trio.sleep(0.001)
            await clock.advance(100)
        return seen

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == [True]


def test_sockets_are_served_between_the_steps_of_advance():
    async def main():
        network = RealWorld(clock).network
        listener = await network.listen("127.0.0.1", 0)
        far = await network.connect("127.0.0.1", listener.address.port)
        near = await listener.accept()
        times, start = [], trio.current_time()

        async def send():
            for _ in range(3):
                await trio.sleep(100)
                far.send(b"x")

        async def receive():
            while True:
                await near.wait_readable()
                near.receive_into(bytearray(1))
                times.append(trio.current_time() - start)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send)
            nursery.start_soon(receive)
            await trio.sleep(0.001)
            await clock.advance(1000)
            nursery.cancel_scope.cancel()
        for thing in (near, far, listener):
            thing.close()
        return [round(seconds) for seconds in times]

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == [100, 200, 300]


def test_only_one_task_advances_the_clock_and_a_cancelled_one_lets_go():
    async def main():
        async with trio.open_nursery() as nursery:
            with clock.working():  # keeps the first one waiting
                nursery.start_soon(clock.advance, 10)
                await trio.sleep(0.001)
                with pytest.raises(RuntimeError, match="being moved"):
                    await clock.advance(1)
                nursery.cancel_scope.cancel()
        return await clock.advance(1)

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == 0


def test_trio_asks_the_clock_how_long_to_sleep_only_when_no_task_can_run():
    class Watched(SkippingClock):
        def deadline_to_sleep_time(self, deadline):
            asked.append(busy)
            return super().deadline_to_sleep_time(deadline)

    async def main():
        nonlocal busy
        for _ in range(50):
            await trio.lowlevel.checkpoint()
        busy = False
        await trio.sleep(1)
        await trio.sleep(1)
        busy = True

    asked, busy = [], True

    trio.run(main, clock=Watched(virtual=True))

    assert asked.count(False) == 2


def test_a_wait_of_the_thread_is_counted():
    waits = SkippingClock().waits
    assert waits is not None
    before = waits()

    for _ in range(100):  # the other may be quicker than the wait for it
        lock = threading.Lock()
        lock.acquire()
        other = threading.Thread(target=lock.release)
        other.start()
        lock.acquire()
        other.join()

    assert waits() > before


def test_virtual_time_passes_only_where_somebody_waits():
    assert SkippingClock(virtual=True).waits is None


def test_a_busy_loop_does_not_keep_the_clock_from_moving():
    clock, met = SkippingClock(), []

    async def ticks():
        while True:
            await trio.sleep(60)
            for _ in range(100):  # a woken task that takes its time is waited for
                await trio.lowlevel.checkpoint()
            met.append(trio.current_time())

    async def busy():
        while True:
            await trio.lowlevel.checkpoint()

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ticks)
            nursery.start_soon(busy)
            await trio.lowlevel.checkpoint()
            began = trio.current_time()
            await clock.advance(3600)
            nursery.cancel_scope.cancel()
            return [round((one - began) / 60) for one in met]

    assert trio.run(main, clock=clock) == list(range(1, 60))


def test_tasks_that_a_woken_task_wakes_are_waited_for_while_the_loop_is_busy():
    clock, met = SkippingClock(), []

    async def relay(receive):
        async for at in receive:
            for _ in range(50):
                await trio.lowlevel.checkpoint()
            met.append((at, trio.current_time()))

    async def ticks(send):
        while True:
            await trio.sleep(60)
            await send.send(trio.current_time())

    async def busy():
        while True:
            await trio.lowlevel.checkpoint()

    async def main():
        send, receive = trio.open_memory_channel(0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(relay, receive)
            nursery.start_soon(ticks, send)
            nursery.start_soon(busy)
            await clock.advance(610)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=clock)
    assert len(met) == 10
    assert all(done - at < 30 for at, done in met)


def test_skips_are_told_before_a_task_notices_them():
    clock, told = SkippingClock(), []

    async def main():
        clock.skips.append(told.append)
        await clock.advance(90)
        with pytest.raises(ValueError, match="by -1 s"):
            await clock.advance(-1)

    trio.run(main, clock=clock)
    assert sum(told) == pytest.approx(90, abs=1)
