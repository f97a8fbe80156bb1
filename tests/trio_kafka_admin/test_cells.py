"""Cells of pages about groups, topics and clients."""

import pytest

from tests.trio_kafka_admin.kit import DASH, read_html
from trio_kafka_admin.cells import assignment, charts, name_link, named, ranges, span, spans
from trio_kafka_admin.page import Place

PLACE = Place("/admin")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (10.2, "10 s"),
        (119.4, "119 s"),
        (120.0, "2 min 0 s"),
        (3725.0, "62 min 5 s"),
        (7325.0, "2 h 2 min"),
    ],
)
def test_time_is_shown_in_two_units_at_most(seconds: float | None, words: str) -> None:
    assert span(seconds) == words


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ([], ""),
        ([3], "3"),
        ([0, 1, 2, 5, 7, 8], "0-2, 5, 7-8"),
        (list(range(0, 30, 2)), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 3 more runs"),
    ],
)
def test_partitions_are_shown_as_runs(numbers: list[int], words: str) -> None:
    assert ranges(numbers) == words


def test_assignment_names_a_bounded_number_of_topics() -> None:
    assigned = {f"topic {number:02}": (0, 1) for number in range(14)}

    words = assignment(assigned)

    assert words.startswith("topic 00 0-1; topic 01 0-1; ")
    assert words.endswith("topic 11 0-1; 2 more topics")
    assert len(assignment({"x" * 30_000: (1,)})) < 100


def test_name_is_a_link_to_its_page_with_the_name_encoded() -> None:
    link = read_html(name_link("a&b/ü", "topics", PLACE)).find("a")

    assert link.text == "a&b/ü"
    assert link.attributes["href"] == "/admin/topics?name=a%26b%2F%C3%BC"


def test_long_name_is_cut_and_a_very_long_one_is_no_link() -> None:
    cut = read_html(name_link("x" * 100, "topics", PLACE)).find("a")
    none = read_html(name_link("x" * 2000, "topics", PLACE))

    assert cut.text == "x" * 79 + "…"
    assert str(cut.attributes["href"]).endswith("x" * 100)
    assert not none.all("a")
    assert len(none.text) == 80


def test_name_that_is_no_unicode_text_is_no_link() -> None:
    assert not read_html(name_link("\udc80", "topics", PLACE)).all("a")
    assert read_html(name_link("", "topics", PLACE)).text == DASH


def test_columns_show_names_times_and_charts() -> None:
    row = {"topic": "orders", "left_s": 3.0, "none_s": None, "history": [(1.0, 2), (0.0, 3)]}

    topic = named("topic", "topic", "topics", PLACE)
    duration, none = spans("left_s", "left"), spans("none_s", "none")
    chart = charts("history", "lag", "lag")

    assert read_html(topic.show(row)).find("a").text == "orders"
    assert topic.sort is not None
    assert topic.sort(row) == "orders"
    assert read_html(duration.show(row)).text == "3.0 s"
    assert duration.sort is not None
    assert duration.sort(row) == 3.0
    assert read_html(none.show(row)).text == DASH
    assert read_html(chart.show(row)).find("svg").attributes["role"] == "img"
