import pytest

from tests.benchmarks.bounds import Bound, at_most, times_other, times_own
from tests.benchmarks.figures import Figure, Figures, rate

OURS: Figures = {"CPU": Figure(30, "µs"), "CPU of 10": Figure(20, "µs"), "rate": rate(50, "/s")}
THEIRS: Figures = {"CPU": Figure(40, "µs"), "rate": rate(100, "/s")}


@pytest.mark.parametrize(
    ("bound", "value"),
    [
        (times_other("CPU", must=1, aim=0.5), 0.75),
        (times_other("rate", must=1, aim=0.5), 2),
        (times_own("CPU", "CPU of 10", must=2, aim=1.2), 1.5),
        (at_most("CPU", must=50, aim=25), 30),
    ],
)
def test_bound_compares_a_figure_with_the_other_broker_the_same_row_or_a_value(
    bound: Bound, value: float
) -> None:
    assert bound.value(OURS, THEIRS) == pytest.approx(value)


@pytest.mark.parametrize(
    ("must", "aim", "met"),
    [(0.75, 0.75, (True, True)), (0.8, 0.7, (True, False)), (0.7, 0.6, (False, False))],
)
def test_bound_is_met_by_a_value_at_the_bound(
    must: float, aim: float, met: tuple[bool, bool]
) -> None:
    verdict = times_other("CPU", must=must, aim=aim).judge(OURS, THEIRS)

    assert (verdict.must_is_met, verdict.aim_is_met) == met


@pytest.mark.parametrize(
    ("bound", "ours", "theirs"),
    [
        (times_other("CPU", must=1, aim=0.5), OURS, {}),
        (times_other("CPU", must=1, aim=0.5), {}, THEIRS),
        (times_own("CPU", "CPU of 5", must=1, aim=0.5), OURS, THEIRS),
        (at_most("RSS", must=1, aim=0.5), OURS, THEIRS),
    ],
)
def test_bound_without_a_measured_figure_is_not_met(
    bound: Bound, ours: Figures, theirs: Figures
) -> None:
    verdict = bound.judge(ours, theirs)

    assert verdict.value is None
    assert not verdict.must_is_met
    assert not verdict.aim_is_met
