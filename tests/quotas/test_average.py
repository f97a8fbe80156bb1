"""Averages of values, over Kafka's windows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.quotas.average import WINDOW_MS, Average


def test_nothing_has_no_average() -> None:
    assert Average().measure(5) is None


def test_the_average_is_of_values_however_far_apart_they_are() -> None:
    average = Average()
    for now_ms, value in ((0, 10), (1, 20), (29_000, 60)):
        average.record(value, now_ms)

    assert average.measure(29_000) == pytest.approx(30)
    assert average.measure(40_000) == pytest.approx(30)


def test_what_is_older_than_the_windows_is_forgotten() -> None:
    average = Average()
    average.record(100, 0)
    average.record(10, WINDOW_MS)

    assert average.measure(2 * WINDOW_MS - 1) == pytest.approx(55)
    assert average.measure(2 * WINDOW_MS) == 10.0
    assert average.measure(3 * WINDOW_MS) is None


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=50))
def test_within_a_window_it_is_the_mean(values: list[int]) -> None:
    average = Average()
    for number, value in enumerate(values):
        average.record(value, number)

    found = average.measure(len(values))
    assert found is not None
    assert round(found - sum(values) / len(values), 6) == 0
