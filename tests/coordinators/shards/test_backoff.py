"""Who fails again and again waits longer and longer."""

from trio_kafka.coordinators.shards.runtime import LONGEST_S, Backoff


def test_first_failure_waits_zero_seconds_and_later_waits_double() -> None:
    backoff = Backoff()

    assert [backoff.failed(1000.0) for _ in range(5)] == [0, 0.1, 0.2, 0.4, 0.8]


def test_backoff_wait_is_at_most_a_minute() -> None:
    backoff, now = Backoff(), 1000.0
    for _ in range(2000):
        wait = backoff.failed(now)
        now += wait + 1

    assert wait == LONGEST_S == 60


def test_backoff_resets_after_a_long_time_without_failures() -> None:
    backoff = Backoff()
    for _ in range(12):
        wait = backoff.failed(1000.0)

    assert wait == 60
    assert backoff.failed(1000.0 + 60 + 120) == 60
    assert backoff.failed(1180.0 + 60 + 121) == 0
