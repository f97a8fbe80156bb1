from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.recent_share import ParkedTime, RecentShare


def test_recent_share_keeps_its_initial_value_until_time_passes() -> None:
    share = RecentShare(5.0)

    assert share.sample(5.0, 0.0) == 1.0


def test_share_of_a_minute_ago_has_weight_one_in_e() -> None:
    share = RecentShare(0.0, value=0.0)

    assert share.sample(60.0, 60.0) == pytest.approx(1 - exp(-1))
    assert share.sample(120.0, 60.0) == pytest.approx((1 - exp(-1)) * exp(-1))


def test_recent_share_after_a_long_sleep_is_the_share_of_that_time() -> None:
    share = RecentShare(0.0, value=0.0)

    assert share.sample(3600.0, 3600.0) == pytest.approx(1.0)


def test_recent_share_stays_between_0_and_1_with_two_clocks() -> None:
    share = RecentShare(0.0)

    assert share.sample(10.0, 11.0) == 1.0
    assert 0.0 < share.sample(20.0, 9.0) < 1.0


@given(st.lists(st.tuples(st.floats(0.1, 100.0), st.floats(0.0, 1.0)), max_size=20))
def test_recent_share_does_not_depend_on_the_sampling_frequency(
    steps: list[tuple[float, float]],
) -> None:
    often, now = RecentShare(0.0, value=0.3), 0.0
    for step_s, _ in steps:
        now += step_s
        often.sample(now, now * 0.7)

    once = RecentShare(0.0, value=0.3)
    once.sample(now, now * 0.7)
    assert often.value == pytest.approx(once.value)


def test_parked_time_includes_the_current_wait() -> None:
    now = 0.0
    parked = ParkedTime(lambda: now)
    parked.since = now
    now = 30.0
    assert parked.sum_s == 30.0
    parked.end()
    now = 60.0
    assert parked.sum_s == 30.0
    assert parked.lately() == pytest.approx(1 - 0.5 * (1 - exp(-1)))
    parked.since = now
    now = 1e6
    assert parked.lately() == pytest.approx(1.0)
