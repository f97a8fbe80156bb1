"""Pauses between attempts to reach a peer."""

import pytest

from trio_kafka.peers.backoff import Backoff, Reconnection


@pytest.mark.parametrize(
    ("failures", "pause_s"), [(0, 0.05), (1, 0.05), (2, 0.1), (5, 0.8), (6, 1.0), (5000, 1.0)]
)
def test_pause_doubles_with_each_failure_up_to_its_limit(failures: int, pause_s: float) -> None:
    assert Backoff().pause_s(failures, 0.5) == pytest.approx(pause_s)


def test_pause_varies_by_a_fifth() -> None:
    backoff = Backoff(10.0, 10.0)

    assert backoff.pause_s(1, 0.0) == pytest.approx(8.0)
    assert backoff.pause_s(1, 1.0) == pytest.approx(12.0)


def test_next_attempt_is_later_after_each_failure_and_at_once_after_a_success() -> None:
    reconnection = Reconnection(Backoff(1.0, 60.0))

    reconnection.failed(100.0, 0.5)
    assert reconnection.not_before == pytest.approx(101.0)
    reconnection.failed(101.0, 0.5)
    assert reconnection.not_before == pytest.approx(103.0)
    reconnection.succeeded()
    assert reconnection.not_before < 0
    reconnection.failed(200.0, 0.5)
    assert reconnection.not_before == pytest.approx(201.0)
