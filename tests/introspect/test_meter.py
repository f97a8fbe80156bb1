"""Meters, held to the formulas of Yammer's."""

from math import exp, isclose

from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.meter import STEP_S, Meter

WEIGHT = 1 - exp(-STEP_S / 60)


def test_meter_has_rate_zero_before_the_first_step() -> None:
    meter = Meter(100.0)
    meter.mark(10, 101.0)

    assert meter.one_minute(104.9) == 0.0
    assert meter.count == 10


def test_first_step_sets_the_average_and_later_steps_move_the_average() -> None:
    meter = Meter(0.0)
    meter.mark(10, 1.0)
    assert meter.one_minute(5.0) == 2.0

    meter.mark(5, 6.0)

    assert isclose(meter.one_minute(10.0), 2.0 + WEIGHT * (1.0 - 2.0))


def test_rate_falls_to_one_in_e_after_a_minute_without_events() -> None:
    meter = Meter(0.0)
    meter.mark(5, 1.0)
    assert meter.one_minute(5.0) == 1.0

    assert isclose(meter.one_minute(65.0), exp(-1))


class Ticking:
    """The model: a step each five seconds, made on time."""

    def __init__(self) -> None:
        self.rate: float | None = None
        self.uncounted = 0.0

    def tick(self) -> None:
        came, self.uncounted = self.uncounted / STEP_S, 0.0
        self.rate = came if self.rate is None else self.rate + WEIGHT * (came - self.rate)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=20))
def test_steps_caught_up_later_give_the_same_rate_as_steps_on_time(
    marks: list[tuple[int, int]],
) -> None:
    meter, model, now = Meter(0.0), Ticking(), 0
    for pause, amount in marks:
        for second in range(now + 1, now + pause + 1):
            if not second % STEP_S:
                model.tick()
        now += pause
        meter.mark(amount, float(now))
        model.uncounted += amount

    assert isclose(meter.one_minute(float(now)), model.rate or 0.0, abs_tol=1e-9)
