"""Bounds of figures: a figure is at most `must`, and `aim` is where it should get.

A figure is held to the same figure of the broker beside it, to another figure of its own row, or to
a value in its unit. All bounds are upper ones: of cost and of latency, not of rates.
"""

from typing import Final

from attrs import frozen

from tests.benchmarks.figures import Figures

OTHER_BROKER: Final = "the other broker"


@frozen(kw_only=True)
class Bound:
    """than: what `must` and `aim` are multiples of, OTHER_BROKER or a figure of the same row; None:
    they are in the figure's unit.
    """

    figure: str
    must: float
    aim: float
    than: str | None

    def value(self, ours: Figures, theirs: Figures) -> float | None:
        """Value to compare with `must` and `aim`; None: something was not measured."""
        figure = ours.get(self.figure)
        if figure is None:
            return None
        if self.than is None:
            return figure.value
        beside_other = self.than == OTHER_BROKER
        other = theirs.get(self.figure) if beside_other else ours.get(self.than)
        return None if other is None else figure.worse_by(other)

    def judge(self, ours: Figures, theirs: Figures) -> "Verdict":
        return Verdict(self, self.value(ours, theirs))


@frozen
class Verdict:
    """value: None where it could not be judged; that is neither met nor forgiven."""

    bound: Bound
    value: float | None

    @property
    def must_is_met(self) -> bool:
        return self.value is not None and self.value <= self.bound.must

    @property
    def aim_is_met(self) -> bool:
        return self.value is not None and self.value <= self.bound.aim


def times_other(figure: str, *, must: float, aim: float) -> Bound:
    """So many times the other broker's."""
    return Bound(figure=figure, must=must, aim=aim, than=OTHER_BROKER)


def times_own(figure: str, other: str, *, must: float, aim: float) -> Bound:
    """So many times another figure of the same row and broker."""
    return Bound(figure=figure, must=must, aim=aim, than=other)


def at_most(figure: str, *, must: float, aim: float) -> Bound:
    """In the figure's unit."""
    return Bound(figure=figure, must=must, aim=aim, than=None)
