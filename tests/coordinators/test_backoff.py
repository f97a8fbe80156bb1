"""Who fails again and again waits longer and longer."""

from trio_kafka.coordinators.runtime import LONGEST_S, Backoff


def test_the_first_failure_costs_nothing_and_each_further_one_twice_as_much() -> None:
    backoff = Backoff()

    assert [backoff.failed(1000.0) for _ in range(5)] == [0, 0.1, 0.2, 0.4, 0.8]


def test_no_wait_is_longer_than_a_minute() -> None:
    backoff, now = Backoff(), 1000.0
    for _ in range(2000):
        wait = backoff.failed(now)
        now += wait + 1

    assert wait == LONGEST_S == 60


def test_who_has_gone_well_for_long_begins_anew() -> None:
    backoff = Backoff()
    for _ in range(12):
        wait = backoff.failed(1000.0)

    assert wait == 60
    assert backoff.failed(1000.0 + 60 + 120) == 60
    assert backoff.failed(1180.0 + 60 + 121) == 0
