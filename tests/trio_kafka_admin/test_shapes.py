"""Badges, bars, cards and folds."""

from typing import get_args

import pytest

from tests.trio_kafka_admin.kit import read_html
from trio_kafka_admin.markup import text
from trio_kafka_admin.shapes import SHAPES, Tone, badge, bar, card, fold


def test_each_tone_has_a_shape_of_its_own() -> None:
    assert set(SHAPES) == set(get_args(Tone))
    assert len(set(SHAPES.values())) == len(SHAPES)


def test_badge_has_a_shape_hidden_from_readers_and_a_word() -> None:
    page = read_html(badge("bad", "<wrong>"))

    mark = page.find("span", class_="badge bad")
    assert mark.text == f"{SHAPES['bad']}<wrong>"
    assert mark.find("i").attributes["aria-hidden"] == "true"


@pytest.mark.parametrize(
    ("share", "width"), [(0.25, "25.0"), (-1.0, "0.0"), (7.5, "100.0"), (1.0, "100.0")]
)
def test_bar_is_filled_by_its_share_and_never_beyond_its_end(share: float, width: str) -> None:
    page = read_html(bar(share, "5 of 20", "warn"))

    assert page.find("rect", class_="bar-part warn").attributes["width"] == width
    assert page.text == "5 of 20"


def test_card_shows_a_heading_and_the_colour_of_its_tone() -> None:
    page = read_html(card("Disk & files", text("full"), tone="bad") + card("Others"))

    [bad, plain] = page.all("section")
    assert (bad.find("h2").text, bad.attributes["class"]) == ("Disk & files", "card bad")
    assert plain.attributes["class"] == "card"


def test_fold_is_closed_unless_it_is_said() -> None:
    page = read_html(
        fold(text("more"), text("content"), name="a") + fold(text("b"), name="b", is_open=True)
    )

    closed, opened = page.all("details")
    assert (closed.attributes, closed.text) == ({"id": "a"}, "morecontent")
    assert "open" in opened.attributes
