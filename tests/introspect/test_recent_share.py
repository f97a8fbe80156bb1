from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.recent_share import ParkedTime, RecentShare


def test_it_is_what_it_was_said_to_be_until_time_has_passed() -> None:
    share = RecentShare(5.0)

    assert share.sample(5.0, 0.0) == 1.0


def test_a_minute_ago_counts_e_times_less() -> None:
    share = RecentShare(0.0, value=0.0)

    assert share.sample(60.0, 60.0) == pytest.approx(1 - exp(-1))
    assert share.sample(120.0, 60.0) == pytest.approx((1 - exp(-1)) * exp(-1))


def test_a_long_sleep_is_what_there_was_lately() -> None:
    share = RecentShare(0.0, value=0.0)

    assert share.sample(3600.0, 3600.0) == pytest.approx(1.0)


def test_sums_of_two_clocks_never_give_more_than_all_or_less_than_nothing() -> None:
    share = RecentShare(0.0)

    assert share.sample(10.0, 11.0) == 1.0
    assert 0.0 < share.sample(20.0, 9.0) < 1.0


@given(st.lists(st.tuples(st.floats(0.1, 100.0), st.floats(0.0, 1.0)), max_size=20))
def test_how_often_it_is_sampled_changes_nothing_where_the_share_stays(
    steps: list[tuple[float, float]],
) -> None:
    often, now = RecentShare(0.0, value=0.3), 0.0
    for step_s, _ in steps:
        now += step_s
        often.sample(now, now * 0.7)

    once = RecentShare(0.0, value=0.3)
    once.sample(now, now * 0.7)
    assert often.value == pytest.approx(once.value)


def test_who_is_parked_now_counts_too() -> None:
    now = 0.0
    parked = ParkedTime(lambda: now)
    parked.begin()
    now = 30.0
    assert parked.sum_s == 30.0
    parked.end()
    now = 60.0
    assert parked.sum_s == 30.0
    assert parked.lately() == pytest.approx(1 - 0.5 * (1 - exp(-1)))
    parked.begin()
    now = 1e6
    assert parked.lately() == pytest.approx(1.0)
