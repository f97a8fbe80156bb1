"""The machine's time, whatever a test does with the time of its process."""

import sys
import time

import pytest

from trio_kafka.world import machine_time
from trio_kafka.world.clock import SkippingClock

FROZEN = 1_704_067_200.0  # 2024
_REPLACED = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")


@pytest.fixture
def frozen(monkeypatch):
    """Freeze time as freezegun does, in every module; and CLOCK_REALTIME, as time-machine does."""
    fakes = {id(getattr(time, name)): lambda: FROZEN for name in _REPLACED}
    for module in list(sys.modules.values()):
        if module.__name__.startswith(("trio_kafka", "time")):
            for name, value in list(vars(module).items()):
                if id(value) in fakes:
                    monkeypatch.setattr(module, name, fakes[id(value)])
    real = time.clock_gettime

    def fake(clock):
        return FROZEN if clock == time.CLOCK_REALTIME else real(clock)

    monkeypatch.setattr(time, "clock_gettime", fake)


def test_wall_time_equals_the_system_time_within_10_ms():
    assert machine_time.wall() == pytest.approx(time.time(), abs=0.01)


def test_elapsed_time_equals_the_performance_counter():
    before = time.perf_counter()
    assert before <= machine_time.elapsed() <= time.perf_counter()


def test_frozen_time_of_the_process_does_not_freeze_the_clock_of_the_broker(frozen):
    assert time.time() == time.perf_counter() == FROZEN
    clock = SkippingClock()
    wall, now, elapsed = clock.wall(), clock.current_time(), clock.elapsed()

    assert wall > FROZEN + 86_400
    deadline = time.clock_gettime(time.CLOCK_MONOTONIC) + 0.002
    while time.clock_gettime(time.CLOCK_MONOTONIC) < deadline:
        pass
    assert clock.wall() > wall
    assert clock.current_time() > now
    assert clock.elapsed() > elapsed


def test_wall_time_without_an_atomic_clock_is_the_time_of_the_process(monkeypatch):
    monkeypatch.setattr(machine_time, "_TAI", None)

    assert machine_time.wall() == pytest.approx(time.time(), abs=0.01)
