"""Buckets of tokens, by hand and against what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.quotas.bucket import TokenBucket
from trio_kafka.quotas.rate import MOST_MS


def test_a_bucket_is_full_at_first() -> None:
    assert TokenBucket(10, 1000).tokens(5.0, 12_345) == 50.0


def test_a_burst_is_let_through_and_waited_for() -> None:
    bucket = TokenBucket(100, 1000)

    bucket.take(560, 5.0, 0)  # 500 were there

    assert bucket.throttle_ms(5.0, 0) == 12_000
    assert bucket.throttle_ms(5.0, 11_999) == 1
    assert bucket.throttle_ms(5.0, 12_000) == 0


def test_a_bucket_never_holds_more_than_its_windows_bring() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(10, 5.0, 0)

    assert bucket.tokens(5.0, 1000) == 5.0
    assert bucket.tokens(5.0, 1_000_000) == 10.0


def test_what_is_given_back_does_not_overflow() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(-100, 5.0, 0)
    assert bucket.tokens(5.0, 0) == 10.0


def test_a_bucket_follows_its_rate() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(30, 10.0, 0)  # 20 were there

    assert bucket.throttle_ms(10.0, 0) == 1000
    assert bucket.throttle_ms(5.0, 0) == 2000
    assert bucket.tokens(100.0, 200) == 10.0


def test_a_wait_is_never_more_than_an_answer_can_say() -> None:
    bucket = TokenBucket(1, 1000)
    bucket.take(1e9, 1e-3, 0)
    assert bucket.throttle_ms(1e-3, 0) == MOST_MS
    assert bucket.throttle_ms(0.0, 0) == MOST_MS


@given(
    takes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 300)), max_size=30),
    rate=st.integers(1, 50),
)
def test_no_more_is_given_than_the_bucket_and_the_time_bring(
    takes: list[tuple[int, int]], rate: int
) -> None:
    bucket, now, given = TokenBucket(5, 1000), 0, 0
    for later, count in takes:
        now += later
        if bucket.throttle_ms(rate, now) == 0:  # as who is strict does
            bucket.take(count, rate, now)
            given += count
        assert given <= rate * 5 + rate * now / 1000 + 300 + 1e-6


@given(rate=st.floats(0.1, 1e6), over=st.floats(1, 1e6))
def test_who_waits_as_told_is_not_overdrawn(rate: float, over: float) -> None:
    bucket = TokenBucket(11, 1000)
    bucket.take(11 * rate + over, rate, 0)
    wait = bucket.throttle_ms(rate, 0)
    if wait < MOST_MS:
        assert bucket.tokens(rate, wait) == pytest.approx(0.0, abs=rate * 0.001 + 1e-6)
