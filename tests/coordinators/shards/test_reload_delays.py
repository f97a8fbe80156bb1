"""Delays before a shard that fails again and again is loaded."""

from trio_kafka.coordinators.shards.reload_delays import BACKOFF, ReloadDelays


def test_first_failure_waits_zero_seconds_and_later_waits_double() -> None:
    backoff = ReloadDelays()

    assert [backoff.failed(1000.0) for _ in range(5)] == [0, 0.1, 0.2, 0.4, 0.8]


def test_backoff_wait_is_at_most_a_minute() -> None:
    backoff, now = ReloadDelays(), 1000.0
    for _ in range(2000):
        wait = backoff.failed(now)
        now += wait + 1

    assert wait == BACKOFF.longest_s == 60


def test_backoff_resets_after_a_long_time_without_failures() -> None:
    backoff = ReloadDelays()
    for _ in range(12):
        wait = backoff.failed(1000.0)

    assert wait == 60
    assert backoff.failed(1000.0 + 60 + 120) == 60
    assert backoff.failed(1180.0 + 60 + 121) == 0
