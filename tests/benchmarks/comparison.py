"""Comparison of two revisions in one row, measured in both orders: ratio, spread and table.

Which broker is started and measured first biases a row by some percent. So each row is measured in
both orders, and its ratio is the geometric mean of the ratios of both. An order's ratio is that of
the best runs. The spread is the range of the ratios of single runs, each beside the other broker's
run next to it, which has the same load beside it. Where 1 is within the spread, runs disagree which
code costs less: noise. With three runs in each order, chance alone leaves 1 outside in one of 32.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

from attrs import frozen

from tests.benchmarks import table
from tests.benchmarks.figures import Figure, Figures, best

COMPARED: Final = "server CPU"
DEFAULT_ROWS: Final = (
    "raw-100B-16kB",
    "raw-100B-900kB",
    "api-versions-50x8",
    "metadata-50x8",
    "produce-small-1x1",
)
_NAME, _VALUE, _RATIO, _RANGE = 30, 16, 8, 15

Run = Mapping[str, Figures | str]
"""By broker: figures, or the reason why there are none."""
Runs = Mapping[str, Sequence[Run]]
"""Runs of one order, by row."""


def orders(base: str, tree: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the orders in which two brokers are started, and measured in turn."""
    return (base, tree), (tree, base)


@frozen
class OrderFigures:
    """One figure of two brokers in one order: a value for each run."""

    base: Sequence[Figure]
    tree: Sequence[Figure]

    @property
    def ratios(self) -> list[float]:
        """How many times worse than the base the tree is, in each run."""
        return [tree.worse_by(base) for base, tree in zip(self.base, self.tree, strict=True)]

    @property
    def ratio(self) -> float:
        """Ratio of the best runs."""
        return best_of(self.tree).worse_by(best_of(self.base))


@frozen
class Comparison:
    """One figure of two brokers in all orders."""

    in_orders: Sequence[OrderFigures]

    @property
    def ratio(self) -> float:
        """Geometric mean of the orders' ratios."""
        ratios = [each.ratio for each in self.in_orders]
        return float(prod(ratios) ** (1 / len(ratios)))

    @property
    def spread(self) -> tuple[float, float]:
        """Lowest and highest ratio of a run."""
        ratios = [ratio for each in self.in_orders for ratio in each.ratios]
        return min(ratios), max(ratios)

    @property
    def is_noise(self) -> bool:
        """Whether runs disagree which broker costs less."""
        lowest, highest = self.spread
        return lowest <= 1 <= highest


def best_of(runs: Sequence[Figure]) -> Figure:
    return best({"": figure} for figure in runs)[""]


def comparisons_of(
    row: str, base: str, tree: str, in_orders: Sequence[Runs]
) -> dict[str, Comparison]:
    """Return the costs of a row by name; none if a run of it failed."""
    if reasons_of(row, in_orders):
        return {}
    by_broker = {
        name: [[dict(run[name]) for run in runs[row]] for runs in in_orders]
        for name in (base, tree)
    }
    return {
        figure: Comparison(
            [
                OrderFigures([run[figure] for run in ours], [run[figure] for run in theirs])
                for ours, theirs in zip(by_broker[base], by_broker[tree], strict=True)
            ]
        )
        for figure in by_broker[base][0][0]
        if figure.endswith(COMPARED)
    }


def reasons_of(row: str, in_orders: Sequence[Runs]) -> list[str]:
    """Return why brokers have no figures of a row, each reason once."""
    return list(
        dict.fromkeys(
            f"{broker}: {figures}"
            for runs in in_orders
            for run in runs[row]
            for broker, figures in run.items()
            if isinstance(figures, str)
        )
    )


def header(base: str, tree: str) -> str:
    """Return the first line of the table."""
    return _line(COMPARED, base, tree, "ratio", "each order", "runs")


def render(row: str, base: str, tree: str, in_orders: Sequence[Runs]) -> str:
    """Return the lines of a row that was measured in all orders."""
    lines = []
    for name, comparison in comparisons_of(row, base, tree, in_orders).items():
        figure = name.removesuffix(COMPARED).rstrip(", ")
        lines.append(_line(f"{row} {figure}", *_cells(comparison)))
    lines += [f"{row}: {reason}" for reason in reasons_of(row, in_orders)]
    return "\n".join(lines)


def _cells(comparison: Comparison) -> list[str]:
    in_orders, (lowest, highest) = comparison.in_orders, comparison.spread
    return [
        table.cell(best_of([figure for each in in_orders for figure in each.base])),
        table.cell(best_of([figure for each in in_orders for figure in each.tree])),
        f"{comparison.ratio:.2f}",
        " ".join(f"{each.ratio:.2f}" for each in in_orders),
        f"{lowest:.2f} to {highest:.2f}",
        "  noise" if comparison.is_noise else "",
    ]


def _line(title: str, *cells: str) -> str:
    """Return a line; a cell beyond the columns stands at its end."""
    columns = (_VALUE, _VALUE, _RATIO, _RANGE, _RANGE)
    aligned = "".join(f"{cell:>{width}}" for cell, width in zip(cells, columns, strict=False))
    return f"{title:{_NAME}}{aligned}{''.join(cells[len(columns) :])}"
