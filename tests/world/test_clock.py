"""Time that can be moved."""

import threading
import time

import pytest
import trio

from trio_kafka.world.clock import EPOCH, SkippingClock
from trio_kafka.world.real import RealWorld


def test_virtual_time_stands_still_for_runnable_tasks_and_jumps_to_the_next_deadline():
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


def test_negative_skip_of_the_clock_is_refused():
    with pytest.raises(ValueError, match="cannot skip"):
        SkippingClock().skip(-1)


def test_a_skip_too_small_for_a_float_still_moves_the_clock():
    clock = SkippingClock(virtual=True)
    clock.skip(1e12)

    clock.skip(1e-12)

    assert clock.current_time() > 1e12


def test_skipping_clock_in_real_time_does_not_jump_by_itself():
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


def test_only_one_task_advances_the_clock_until_the_task_is_cancelled():
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
            states.append(busy)
            return super().deadline_to_sleep_time(deadline)

    async def main():
        nonlocal busy
        for _ in range(50):
            await trio.lowlevel.checkpoint()
        busy = False
        await trio.sleep(1)
        await trio.sleep(1)
        busy = True

    states, busy = [], True

    trio.run(main, clock=Watched(virtual=True))

    assert states.count(False) == 2


def test_waits_of_the_loop_thread_are_counted():
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


def test_virtual_clock_does_not_count_waits():
    assert SkippingClock(virtual=True).waits is None


def test_busy_task_does_not_stop_advance():
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
            return [round((time_s - began) / 60) for time_s in met]

    assert trio.run(main, clock=clock) == list(range(1, 60))


def test_advance_waits_for_tasks_woken_by_woken_tasks_while_the_loop_is_busy():
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


class Patient:
    """Follower with one task that waits, and needs its deadline only if `needed` says so."""

    def __init__(self, *, needed):
        self.needed = needed
        self.skips, self.woken = [], []
        self.scope = trio.CancelScope()

    async def wait(self, seconds):
        while True:
            self.due = trio.current_time() + seconds
            with trio.CancelScope(deadline=self.due) as self.scope:
                await trio.sleep_forever()
            self.woken.append(trio.current_time())

    def look_ahead(self, goal):
        if not self.needed:
            self.scope.deadline = goal + 1

    def skipped(self, seconds):
        self.skips.append(seconds)

    def arrived(self):
        self.scope.deadline = self.due


@pytest.mark.parametrize(("needed", "times"), [(True, 60), (False, 1)])
def test_deadline_postponed_by_its_follower_is_met_once_at_the_end_of_advance(needed, times):
    clock, patient = SkippingClock(), Patient(needed=needed)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(patient.wait, 60)
            await trio.sleep(0.001)
            clock.followers.append(patient)
            steps = await clock.advance(3601)
            await trio.sleep(0.001)
            nursery.cancel_scope.cancel()
        return steps

    steps = trio.run(main, clock=clock)

    assert len(patient.woken) == times
    assert (steps > 1) is needed
    assert sum(patient.skips) == pytest.approx(3601, abs=1)


def test_deadline_that_expires_while_followers_look_ahead_is_met():
    clock, slow = SkippingClock(), Patient(needed=True)

    def look_ahead(_):
        while trio.lowlevel.current_statistics().seconds_to_next_deadline > 0:
            pass

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(slow.wait, 0.01)
            await trio.sleep(0.001)
            slow.look_ahead = look_ahead
            clock.followers.append(slow)
            await clock.advance(0.1)
            nursery.cancel_scope.cancel()

    trio.run(main, clock=clock)

    assert slow.woken  # ten times on a machine that never stands still


def test_cancelled_advance_restores_the_deadlines_of_followers():
    clock, patient = SkippingClock(), Patient(needed=False)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(patient.wait, 60)
            await trio.sleep(0.001)
            clock.followers.append(patient)
            with clock.working(), trio.move_on_after(0.01):
                await clock.advance(3600)
            deadline, due = patient.scope.deadline, patient.due
            nursery.cancel_scope.cancel()
        return deadline == due

    assert trio.run(main, clock=clock)


def test_negative_advance_of_the_clock_is_refused():
    async def main():
        with pytest.raises(ValueError, match="by -1 s"):
            await clock.advance(-1)

    clock = SkippingClock()

    trio.run(main, clock=clock)


def test_reset_of_the_wall_clock_does_not_move_the_monotonic_clock():
    clock = SkippingClock()
    now = clock.current_time()
    clock.skip(3600)

    clock.reset_wall()

    assert clock.wall() == pytest.approx(time.time(), abs=1)
    assert clock.current_time() - now >= 3600
    clock.skip(60)
    assert clock.wall() == pytest.approx(time.time() + 60, abs=1)


def test_reset_of_the_wall_clock_is_refused_during_advance():
    async def main():
        async with trio.open_nursery() as nursery:
            with clock.working():
                nursery.start_soon(clock.advance, 10)
                await trio.sleep(0.001)
                with pytest.raises(RuntimeError, match="being moved"):
                    clock.reset_wall()
                nursery.cancel_scope.cancel()

    clock = SkippingClock()

    trio.run(main, clock=clock)


def test_record_timestamps_are_shifted_by_the_clock_moves_before_their_offset():
    clock, now_ms = SkippingClock(), int(time.time() * 1000)
    clock.skip(1000)
    clock.writes.note_move({"log": 5}, 0.0, 1000.0)

    assert clock.wall_of(now_ms - 10, "log", 4) == now_ms - 10  # before the move
    assert clock.wall_of(now_ms - 10, "log", 5) == now_ms - 10 + 1_000_000
    assert clock.wall_of(now_ms + 990_000, "log", 5) == now_ms + 990_000  # the broker's own time


def test_record_timestamps_are_not_shifted_in_virtual_time():
    clock = SkippingClock(virtual=True)
    clock.skip(1000)

    assert clock.wall_of(5, "log", 0) == 5
