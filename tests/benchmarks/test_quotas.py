"""The comparison of throttle times, without a broker."""

import pytest

from tests.benchmarks.quotas import Waits, compare


def test_throttle_figures_are_per_second_and_per_wait() -> None:
    waits = Waits()
    for wait_ms, got in ((0, 100.0), (300, 100.0), (500, 0.0), (9, 0.0)):
        waits.note(wait_ms, got)
    waits.seconds = 2.0
    assert waits.figures == {"got /s": 100.0, "told ms /s": 400.0, "ms a wait": 400.0}


def test_differences_are_relative_to_the_figures_of_the_other_broker() -> None:
    assert dict(compare({"a": 90.0, "b": 5.0}, {"a": 100.0, "b": 0.0})) == {
        "a": pytest.approx(-0.1),
        "b": 0.0,
    }
