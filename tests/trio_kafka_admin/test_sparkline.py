"""Sparklines: the line, its scale, and its text alternative."""

import pytest

from tests.trio_kafka_admin.kit import DASH, read_html
from trio_kafka_admin.sparkline import HEIGHT, WIDTH, sparkline


def places(points: list[tuple[float, int]]) -> list[tuple[float, float]]:
    """Places of the line."""
    svg = read_html(sparkline(points, window_s=900, noun="lag")).find("svg")
    line = svg.find("polyline").attributes["points"]
    assert line is not None
    return [(float(x), float(y)) for x, y in (place.split(",") for place in line.split())]


def test_line_goes_from_the_oldest_point_to_the_newest_with_zero_at_the_bottom() -> None:
    assert places([(900.0, 0), (450.0, 10), (0.0, 5)]) == [
        (0.0, HEIGHT - 1.5),
        (WIDTH / 2, 1.5),
        (WIDTH, HEIGHT / 2),
    ]


def test_line_of_zeros_is_at_the_bottom() -> None:
    assert places([(450.0, 0), (0.0, 0)]) == [(60.0, 18.5), (120.0, 18.5)]


def test_points_older_than_the_window_are_left_out() -> None:
    assert len(places([(901.0, 7), (900.0, 1), (0.0, 2)])) == 2


def test_text_alternative_says_what_the_line_shows() -> None:
    chart = read_html(sparkline([(120.0, 3), (60.0, 12_000), (0.0, 5)], window_s=900, noun="lag"))

    words = "lag over 2.0 minutes: now 5, lowest 3, highest 12,000"
    assert chart.find("svg").attributes["aria-label"] == words
    assert chart.find("svg").attributes["role"] == "img"
    assert chart.find("span").attributes["title"] == words


@pytest.mark.parametrize("points", [[], [(0.0, 1)], [(1000.0, 1), (0.0, 2)]])
def test_fewer_than_two_points_are_a_dash(points: list[tuple[float, int]]) -> None:
    assert read_html(sparkline(points, window_s=900, noun="lag")).text == DASH
