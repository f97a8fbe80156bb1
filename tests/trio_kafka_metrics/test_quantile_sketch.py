from hypothesis import given
from hypothesis import strategies as st

from trio_kafka_metrics.quantile_sketch import QuantileSketch


@given(st.lists(st.floats(1e-5, 1e9), min_size=1, max_size=200))
def test_quantiles_have_a_small_bounded_relative_error(values: list[float]) -> None:
    sketch = QuantileSketch()
    for value in values:
        sketch.add(value)

    ordered, expected = sorted(values), (0.0, 0.5, 0.9, 1.0)
    for quantile, result in zip(expected, sketch.quantiles(expected), strict=True):
        rank = max(-int(-quantile * len(ordered) // 1), 1) - 1
        assert abs(result - ordered[rank]) <= ordered[rank] / 15
    assert sketch.count == len(values)


def test_values_older_than_two_turns_leave_the_quantiles_but_not_the_count() -> None:
    sketch = QuantileSketch()
    sketch.add(100.0)
    sketch.turn()
    sketch.add(1.0)

    assert sketch.quantiles((0.5, 0.999)) == (1.0625, 100.0)
    sketch.turn()
    assert sketch.quantiles((0.5, 0.999)) == (1.0625, 1.0625)
    assert sketch.count == 2


def test_empty_sketch_and_zero_negative_and_extreme_values_have_quantiles() -> None:
    sketch = QuantileSketch()
    assert sketch.quantiles((0.5, 0.99)) == (0.0, 0.0)

    for value in (0.0, -1.0, 1e-300, 1e300):
        sketch.add(value)

    assert sketch.quantiles((0.5, 0.75)) == (0.0, 0.0)
    assert sketch.quantiles((1.0,))[0] > 1e12


def test_size_of_a_quantile_sketch_is_bounded() -> None:
    sketch = QuantileSketch()
    for exponent in range(-300, 300):
        for mantissa in range(1, 30):
            sketch.add(mantissa * 2.0**exponent)

    assert len(sketch._now) <= 8 * 64 + 2
