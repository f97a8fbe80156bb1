from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.recent_values import RecentValues


def test_without_values_there_is_neither_an_average_nor_a_maximum() -> None:
    values = RecentValues()

    assert values.average(5.0) is None
    assert values.largest(5.0) is None


def test_values_are_forgotten_a_minute_after_the_begin_of_their_window() -> None:
    values = RecentValues()
    values.add(10.0, 0.0)
    values.add(20.0, 29.0)
    values.add(3.0, 31.0)

    assert (values.average(32.0), values.largest(32.0)) == (11.0, 20.0)
    assert (values.average(60.0), values.largest(60.0)) == (3.0, 3.0)
    assert (values.average(91.0), values.largest(91.0)) == (None, None)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), min_size=1, max_size=50))
def test_values_of_the_last_half_minute_always_count(steps: list[tuple[int, int]]) -> None:
    values, now = RecentValues(), 0
    kept = list[tuple[int, int]]()
    for value, pause in steps:
        now += pause
        values.add(value, now)
        kept.append((value, now))

    recent = [value for value, added in kept if now - added < 30]
    surely_or_perhaps = [value for value, added in kept if now - added < 60]
    largest, average = values.largest(now), values.average(now)
    assert largest is not None
    assert average is not None
    assert max(recent) <= largest <= max(surely_or_perhaps)
    assert average <= largest
    assert len(values._windows) <= 2
