"""Pauses before restarts."""

import pytest

from trio_kafka.peers.backoff import Backoff
from trio_kafka_builtin.pipelines.pipeline import RestartPauses


def pauses_of(first_s: float, longest_s: float, healthy_s: float) -> RestartPauses:
    return RestartPauses(backoff=Backoff(first_s, longest_s), healthy_s=healthy_s)


def test_pauses_double_up_to_the_cap() -> None:
    pauses = pauses_of(1, 5, healthy_s=60)

    assert [pauses.pause_after(0.1) for _ in range(5)] == [1, 2, 4, 5, 5]


def test_a_healthy_run_resets_the_restart_pause() -> None:
    pauses = pauses_of(1, 60, healthy_s=60)

    assert [pauses.pause_after(ran) for ran in (1, 59, 60, 1)] == [1, 2, 1, 2]


@pytest.mark.parametrize(("first", "longest"), [(0, 0), (0, 10), (10, 10)])
def test_pauses_stay_within_their_bounds(first: float, longest: float) -> None:
    pauses = pauses_of(first, longest, healthy_s=1)

    assert all(first <= pauses.pause_after(0) <= longest for _ in range(20))
