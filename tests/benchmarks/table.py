"""A row of the table as text: each figure of each broker, how many times worse the first is."""

from collections.abc import Mapping

from tests.benchmarks.figures import Figure

_NAME, _VALUE = 28, 20


def header(brokers: list[str]) -> str:
    titles = "".join(f"{name:>{_VALUE}}" for name in brokers)
    ratio = f"{'times worse':>13}" if len(brokers) > 1 else ""
    return f"{'':{_NAME}}{titles}{ratio}"


def render(row: str, brokers: list[str], results: Mapping[str, Mapping[str, Figure] | str]) -> str:
    """A result that is a text says why there is none. The ratio is the first broker to the last."""
    lines = [row]
    found = {name: result for name, result in results.items() if not isinstance(result, str)}
    figures = dict.fromkeys(figure for result in found.values() for figure in result)
    for figure in figures:
        values = [found.get(name, {}).get(figure) for name in brokers]
        line = f"  {figure:{_NAME - 2}}" + "".join(f"{cell(value):>{_VALUE}}" for value in values)
        first, last = values[0], values[-1]
        if len(values) > 1 and first and last:
            line += f"{first.worse_by(last):>13.2f}"
        lines.append(line)
    reasons = [f"  {name}: {reason}" for name, reason in results.items() if isinstance(reason, str)]
    return "\n".join(lines + reasons)


def cell(figure: Figure | None) -> str:
    return "-" if figure is None else f"{number(figure.value)} {figure.unit}"


def number(value: float) -> str:
    """Three digits that count."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e4:
        return f"{value / 1e3:.3g} k"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
