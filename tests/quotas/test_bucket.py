"""Buckets of tokens, by hand and against what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.quotas.bucket import TokenBucket
from trio_kafka.quotas.rate import MOST_MS


def test_token_bucket_is_full_at_first() -> None:
    assert TokenBucket(10, 1000).tokens(5.0, 12_345) == 50.0


def test_burst_above_the_tokens_is_allowed_and_throttled_afterwards() -> None:
    bucket = TokenBucket(100, 1000)

    bucket.take(560, 5.0, 0)  # 500 were there

    assert bucket.throttle_ms(5.0, 0) == 12_000
    assert bucket.throttle_ms(5.0, 11_999) == 1
    assert bucket.throttle_ms(5.0, 12_000) == 0


def test_token_bucket_holds_at_most_the_tokens_of_its_windows() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(10, 5.0, 0)

    assert bucket.tokens(5.0, 1000) == 5.0
    assert bucket.tokens(5.0, 1_000_000) == 10.0


def test_returned_tokens_do_not_overflow_the_bucket() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(-100, 5.0, 0)
    assert bucket.tokens(5.0, 0) == 10.0


def test_throttle_time_of_a_bucket_follows_a_changed_rate() -> None:
    bucket = TokenBucket(2, 1000)
    bucket.take(30, 10.0, 0)  # 20 were there

    assert bucket.throttle_ms(10.0, 0) == 1000
    assert bucket.throttle_ms(5.0, 0) == 2000
    assert bucket.tokens(100.0, 200) == 10.0


def test_throttle_time_of_a_bucket_never_exceeds_an_int32() -> None:
    bucket = TokenBucket(1, 1000)
    bucket.take(1e9, 1e-3, 0)
    assert bucket.throttle_ms(1e-3, 0) == MOST_MS
    assert bucket.throttle_ms(0.0, 0) == MOST_MS


@given(
    takes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 300)), max_size=30),
    rate=st.integers(1, 50),
)
def test_tokens_taken_are_at_most_the_bucket_plus_the_rate_over_time(
    takes: list[tuple[int, int]], rate: int
) -> None:
    bucket, now, total = TokenBucket(5, 1000), 0, 0
    for later, count in takes:
        now += later
        if bucket.throttle_ms(rate, now) == 0:  # as who is strict does
            bucket.take(count, rate, now)
            total += count
        assert total <= rate * 5 + rate * now / 1000 + 300 + 1e-6


@given(rate=st.floats(0.1, 1e6), over=st.floats(1, 1e6))
def test_bucket_is_not_overdrawn_after_the_throttle_time(rate: float, over: float) -> None:
    bucket = TokenBucket(11, 1000)
    bucket.take(11 * rate + over, rate, 0)
    wait = bucket.throttle_ms(rate, 0)
    if wait < MOST_MS:
        assert bucket.tokens(rate, wait) == pytest.approx(0.0, abs=rate * 0.001 + 1e-6)
