"""A row of the table as text: each figure of each broker, how many times worse the first is, and
whether it is what it is held to.
"""

from collections.abc import Iterable, Mapping

from tests.benchmarks.bounds import OTHER_BROKER, Verdict
from tests.benchmarks.figures import Figure

_NAME, _VALUE, _RATIO = 32, 20, 13


def header(brokers: list[str]) -> str:
    titles = "".join(f"{name:>{_VALUE}}" for name in brokers)
    ratio = f"{'times worse':>{_RATIO}}" if len(brokers) > 1 else ""
    return f"{'':{_NAME}}{titles}{ratio}"


def render(
    row: str,
    brokers: list[str],
    results: Mapping[str, Mapping[str, Figure] | str],
    verdicts: Iterable[Verdict] = (),
) -> str:
    """A result that is a text says why there is none. The ratio is the first broker to the last."""
    lines = [row]
    actual = {name: result for name, result in results.items() if not isinstance(result, str)}
    figures = dict.fromkeys(figure for result in actual.values() for figure in result)
    judged: dict[str, list[str]] = {}
    for verdict in verdicts:
        judged.setdefault(verdict.bound.figure, []).append(show_verdict(verdict))
    for figure in dict.fromkeys([*figures, *judged]):
        values = [actual.get(name, {}).get(figure) for name in brokers]
        line = f"  {figure:{_NAME - 2}}" + "".join(f"{cell(value):>{_VALUE}}" for value in values)
        if len(values) > 1:
            first, last = values[0], values[-1]
            line += f"{f'{first.worse_by(last):.2f}' if first and last else '':>{_RATIO}}"
        if figure in judged:
            line += f"  {'; '.join(judged[figure])}"
        lines.append(line.rstrip())
    reasons = [f"  {name}: {reason}" for name, reason in results.items() if isinstance(reason, str)]
    return "\n".join(lines + reasons)


def show_verdict(verdict: Verdict) -> str:
    """Both bounds and whether they are met; with the ratio, where no column has it."""
    bound, value = verdict.bound, verdict.value
    if value is None:
        return f"must {bound.must:g}, aim {bound.aim:g}: not judged"
    seen = bound.than in (None, OTHER_BROKER)
    shown = "" if seen else f"{value:.2f} times {bound.than!r}: "
    must, aim = ("met" if met else "missed" for met in (verdict.must_is_met, verdict.aim_is_met))
    return f"{shown}must {bound.must:g} {must}, aim {bound.aim:g} {aim}"


def summary(verdicts: Mapping[str, Iterable[Verdict]]) -> str:
    """How many bounds of all rows were met, and one line for each that was not judged or missed."""
    every = [(row, verdict) for row, judged in verdicts.items() for verdict in judged]
    if not every:
        return "bounds: none"
    musts = sum(verdict.must_is_met for _, verdict in every)
    aims = sum(verdict.aim_is_met for _, verdict in every)
    lines = [f"bounds: {musts} of {len(every)} met, {aims} of {len(every)} aims met"]
    lines += [
        f"  {row}, {verdict.bound.figure}: {_shortfall(verdict)}"
        for row, verdict in every
        if not verdict.must_is_met
    ]
    return "\n".join(lines)


def _shortfall(verdict: Verdict) -> str:
    if verdict.value is None:
        return "not judged"
    return f"missed: {verdict.value:.3g}, must {verdict.bound.must:g}"


def cell(figure: Figure | None) -> str:
    return "-" if figure is None else f"{number(figure.value)} {figure.unit}"


def number(value: float) -> str:
    """Three digits that count."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e4:
        return f"{value / 1e3:.3g} k"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
