"""Pauses before restarts."""

import pytest

from trio_kafka_builtin.pipelines.pipeline import Backoff


def test_pauses_double_up_to_the_cap() -> None:
    backoff = Backoff(first_s=1, longest_s=5, healthy_s=60)

    assert [backoff.pause_after(0.1) for _ in range(5)] == [1, 2, 4, 5, 5]


def test_a_healthy_run_resets_the_restart_pause() -> None:
    backoff = Backoff(first_s=1, longest_s=60, healthy_s=60)

    assert [backoff.pause_after(ran) for ran in (1, 59, 60, 1)] == [1, 2, 1, 2]


@pytest.mark.parametrize(("first", "longest"), [(0, 0), (0, 10), (10, 10)])
def test_pauses_stay_within_their_bounds(first: float, longest: float) -> None:
    backoff = Backoff(first_s=first, longest_s=longest, healthy_s=1)

    assert all(first <= backoff.pause_after(0) <= longest for _ in range(20))
