"""Averages of values, over Kafka's windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.quotas.average import WINDOW_MS, Average


def test_average_without_values_is_none() -> None:
    assert Average().measure(5) is None


def test_average_does_not_depend_on_the_time_between_values() -> None:
    average = Average()
    for now_ms, value in ((0, 10), (1, 20), (29_000, 60)):
        average.record(value, now_ms)

    assert average.measure(29_000) == pytest.approx(30)
    assert average.measure(40_000) == pytest.approx(30)


def test_values_older_than_the_windows_do_not_count_in_the_average() -> None:
    average = Average()
    average.record(100, 0)
    average.record(10, WINDOW_MS)

    assert average.measure(2 * WINDOW_MS - 1) == pytest.approx(55)
    assert average.measure(2 * WINDOW_MS) == 10.0
    assert average.measure(3 * WINDOW_MS) is None


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=50))
def test_average_within_a_window_is_the_mean(values: list[int]) -> None:
    average = Average()
    for number, value in enumerate(values):
        average.record(value, number)

    result = average.measure(len(values))
    assert result is not None
    assert round(result - sum(values) / len(values), 6) == 0
