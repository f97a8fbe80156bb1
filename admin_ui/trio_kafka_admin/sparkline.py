"""Sparklines: small charts over the last 15 minutes, as SVG made on the server.

Each has a text alternative with the newest, the lowest and the highest value: the line alone
carries nothing that the text does not say.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka_admin.markup import Html, tag
from trio_kafka_admin.table import DASH

WIDTH: Final = 120
HEIGHT: Final = 20
_MARGIN: Final = 1.5  # so that the line is not cut at the edges


def sparkline(points: Sequence[tuple[float, int]], *, window_s: float, noun: str) -> Html:
    """Return the chart of a quantity.

    points: seconds ago and value, the oldest first. The scale begins at 0. window_s: width of the
    chart. noun: what the values are. A dash stands for fewer than two points.
    """
    shown = [(ago_s, value) for ago_s, value in points if ago_s <= window_s]
    if len(shown) < 2:
        return DASH
    words = _alternative(shown, noun)
    chart = tag(
        "svg",
        tag(
            "polyline",
            points=" ".join(_places(shown, window_s)),
            fill="none",
            stroke="currentColor",
            stroke_width=1.5,
        ),
        class_="sparkline",
        role="img",
        aria_label=words,
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=WIDTH,
        height=HEIGHT,
    )
    return tag("span", chart, title=words)


def _places(points: Sequence[tuple[float, int]], window_s: float) -> list[str]:
    highest = max(value for _, value in points) or 1
    room = HEIGHT - 2 * _MARGIN
    return [
        f"{WIDTH * (1 - ago_s / window_s):.1f},{HEIGHT - _MARGIN - room * value / highest:.1f}"
        for ago_s, value in points
    ]


def _alternative(points: Sequence[tuple[float, int]], noun: str) -> str:
    values = [value for _, value in points]
    minutes = points[0][0] / 60
    return (
        f"{noun} over {minutes:.1f} minutes: now {values[-1]:,}, lowest {min(values):,},"
        f" highest {max(values):,}"
    )
