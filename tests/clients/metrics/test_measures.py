"""Counters and averages over windows."""

from math import isnan

from trio_kafka.clients.metrics.measures import Distribution, Total


def test_recent_events_are_those_of_the_last_windows() -> None:
    total = Total(2)
    total.value += 5
    assert total.recent == 5

    total.shift()
    total.value += 3
    assert total.recent == 8

    total.shift()
    assert (total.recent, total.value) == (3, 8)


def test_average_and_maximum_forget_old_windows() -> None:
    times = Distribution(2)
    assert isnan(times.average)
    assert isnan(times.largest)

    times.record(8.0)
    times.shift()
    times.record(2.0)
    assert (times.average, times.largest) == (5.0, 8.0)

    times.shift()
    assert (times.average, times.largest) == (2.0, 2.0)

    times.shift()
    assert isnan(times.average)


def test_measure_with_one_window_forgets_values_at_its_end() -> None:
    times, total = Distribution(1), Total(1)
    times.record(1.0)
    total.value += 1
    times.shift()
    total.shift()

    assert isnan(times.largest)
    assert total.recent == 0
