"""Rates against a simple model of Kafka's, and by hand."""

from math import floor

import pytest
from attrs import define
from hypothesis import example, given
from hypothesis import strategies as st

from trio_kafka.quotas.rate import MOST_MS, Rate


@define
class Sample:
    """A window of the model."""

    start: int
    last: int
    value: float = 0.0


@define
class Model:
    """Kafka's SampledStat and Rate, written down as their texts go."""

    windows: int
    window_ms: int
    samples: list[Sample]
    current: int = 0

    def record(self, value: float, now: int) -> None:
        if not self.samples:
            self.samples.append(Sample(now, now))
        sample = self.samples[self.current]
        if now - sample.start >= self.window_ms:
            self.current = (self.current + 1) % (self.windows + 1)
            if self.current >= len(self.samples):
                self.samples.append(Sample(now, now))
            else:
                self.samples[self.current] = Sample(now, now)
            sample = self.samples[self.current]
        sample.value += value
        sample.last = now

    def size(self, now: int) -> int:
        for at, sample in enumerate(self.samples):
            if now - sample.last >= self.windows * self.window_ms:
                self.samples[at] = Sample(now, now)
        oldest = min((sample.start for sample in self.samples), default=now)
        elapsed = now - oldest
        full = elapsed // self.window_ms
        if full < self.windows - 1:
            elapsed += (self.windows - 1 - full) * self.window_ms
        return max(elapsed, 1)

    def rate(self, now: int) -> float:
        size = self.size(now)
        return sum(sample.value for sample in self.samples) / (size / 1000.0)


@given(
    windows=st.integers(1, 5),
    window_ms=st.sampled_from([1, 10, 1000]),
    events=st.lists(
        st.tuples(
            st.integers(0, 30), st.floats(0, 1e6), st.booleans()
        ),  # tenths of a window later; what; measured, too
        max_size=60,
    ),
)
def test_rate_equals_a_model_of_kafkas_rate(
    windows: int, window_ms: int, events: list[tuple[int, float, bool]]
) -> None:
    rate, model, now = Rate(windows, window_ms), Model(windows, window_ms, []), 17
    for later, value, measured in events:
        now += max(later * window_ms // 10, later and 1)
        rate.record(value, now)
        model.record(value, now)
        if measured:
            assert rate.over_ms(now) == model.size(now)
            assert rate.measure(now) == pytest.approx(model.rate(now))


@example(values=[9989703.0], bound=998922.0)
@given(
    values=st.lists(st.floats(1, 1e9), min_size=1, max_size=20),
    bound=st.floats(1, 1e6),
)
def test_rate_is_at_its_bound_after_the_throttle_time(values: list[float], bound: float) -> None:
    rate, now = Rate(11, 1000), 0
    for value in values:
        now += 100
        rate.record(value, now)
    wait = rate.throttle_ms(bound, now)
    if wait == MOST_MS:
        assert rate.measure(now) > bound
    elif wait:
        over = rate.over_ms(now)
        total = rate.measure(now) * over
        assert total / (over + wait + 1) <= bound <= total / max(over + wait - 1, 1)
    else:  # less than half a millisecond is none
        over = rate.over_ms(now)
        assert rate.measure(now) * over / (over + 1) <= bound


def test_an_early_value_is_spread_over_whole_windows() -> None:
    rate = Rate(11, 1000)

    rate.record(15_000, 500)

    assert rate.over_ms(500) == 10_000
    assert rate.measure(500) == 1500
    assert rate.throttle_ms(1000, 500) == 5000  # (1500 - 1000) / 1000 * 10 s
    assert rate.throttle_ms(1500, 500) == 0


def test_window_that_has_just_begun_counts_only_its_elapsed_time() -> None:
    rate = Rate(3, 1000)
    rate.record(100, 0)
    rate.record(100, 1000)
    rate.record(100, 2400)

    assert rate.over_ms(2400) == 2400
    assert rate.measure(2400) == pytest.approx(300 / 2.4)


def test_window_is_kept_until_its_last_value_is_older_than_all_windows() -> None:
    rate = Rate(2, 1000)
    rate.record(100, 0)
    rate.record(60, 900)

    assert rate.measure(2800) == pytest.approx(160 / 2.8)
    assert rate.measure(2900) == 0.0
    assert rate.over_ms(2900) == 1000


def test_value_that_is_subtracted_again_does_not_change_the_rate() -> None:
    rate = Rate(11, 1000)
    rate.record(500, 0)
    rate.record(70_000, 300)

    rate.record(-70_000, 300)

    assert rate.measure(300) == pytest.approx(500 / 10.3)


def test_rate_without_values_is_zero() -> None:
    assert Rate(11, 1000).measure(5) == 0.0
    assert Rate(1, 1000).over_ms(5) == 1


def test_throttle_time_is_rounded_as_in_java() -> None:
    rate = Rate(2, 1000)
    rate.record(1000.5, 0)  # over 1000 ms: 0.5 ms too much
    assert rate.throttle_ms(1000, 0) == floor(0.5 + 0.5)


@pytest.mark.parametrize("bound", [0.0, 1e-300])
def test_throttle_time_of_a_rate_never_exceeds_its_maximum(bound: float) -> None:
    rate = Rate(11, 1000)
    rate.record(1e9, 0)
    assert rate.throttle_ms(bound, 0) == MOST_MS
