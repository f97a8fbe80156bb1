"""Tables of rows."""

from collections.abc import Sequence
from operator import itemgetter

import pytest

from tests.trio_kafka_admin.kit import DASH, Element, read_html, table_of
from trio_kafka_admin.markup import tag, text
from trio_kafka_admin.table import Column, Row, figures, number, shown, table, words

COLUMNS = (words("who", "client", "who asks"), figures("many", "requests", digits=1))


def shown_table(rows: Sequence[Row], columns: Sequence[Column] = COLUMNS) -> Element:
    return read_html(
        "".join(table("t", columns, rows, key=itemgetter("who"), empty="Nobody is here."))
    )


def test_table_row_has_a_cell_for_each_column() -> None:
    page = shown_table([{"who": "a", "many": 1.25}, {"who": "b", "many": 1234567}])

    assert table_of(page, "t") == [
        {"client": "a", "requests": "1.2"},
        {"client": "b", "requests": "1\u202f234\u202f567.0".replace("\u202f", " ")},
    ]
    head = page.find("thead").all("th")[0]
    assert head.attributes == {"title": "who asks", "scope": "col"}


def test_missing_value_is_shown_as_a_dash_without_a_sort_value() -> None:
    page = shown_table([{"who": None, "many": None}, {"who": "", "many": 0}])

    assert [list(row.values()) for row in table_of(page, "t")] == [[DASH, DASH], [DASH, "0.0"]]
    cells = page.find("tbody").all("td", class_="number")
    assert [cell.attributes.get("data-value") for cell in cells] == [None, "0"]


def test_number_cell_has_its_exact_value_for_sorting() -> None:
    [cell] = shown_table([{"who": "a", "many": 1234.5678}]).all("td", class_="number")

    assert cell.attributes["data-value"] == "1234.5678"


def test_table_without_rows_is_shown_as_a_sentence() -> None:
    page = shown_table([])

    assert page.all("table") == []
    assert page.find("p").text == "Nobody is here."


def test_table_yields_one_row_per_piece() -> None:
    rows = [{"who": n, "many": n} for n in range(5)]
    pieces = list(table("t", COLUMNS, rows, key=itemgetter("who"), empty=""))

    assert [piece.count("<tr") for piece in pieces] == [1, 1, 1, 1, 1, 1, 0]
    page = read_html("".join(pieces))
    keys = [row.attributes["data-key"] for row in page.find("tbody").all("tr")]
    assert keys == ["0", "1", "2", "3", "4"]


def test_text_chosen_by_a_client_is_escaped() -> None:
    assert shown("<script>") == "&lt;script&gt;"
    assert number(-1234.5, 2) == "-1&#8239;234.50"


def test_cell_carries_the_head_of_its_column_for_narrow_screens() -> None:
    page = shown_table([{"who": "a", "many": 1}])

    labels = [cell.attributes["data-label"] for cell in page.find("tbody").all("td")]
    assert labels == ["client", "requests"]


@pytest.mark.parametrize(
    ("texts", "numbers", "expected"),
    [
        (1, 2, "data small"),
        (2, 1, "data"),
        (2, 5, "data"),
        (2, 6, "data middle"),
        (4, 8, "data middle"),
        (4, 9, "data wide"),
    ],
)
def test_table_with_many_columns_asks_for_a_wider_screen(
    texts: int, numbers: int, expected: str
) -> None:
    columns = [*(words("who", str(n)) for n in range(texts)), *[figures("many", "n")] * numbers]
    page = shown_table([{"who": "a", "many": 1}], columns)

    assert page.find("table").attributes["class"] == expected


def test_only_a_word_too_long_for_its_column_may_be_broken() -> None:
    page = shown_table([{"who": "a purgatory", "many": 1}, {"who": "x" * 200, "many": 2}])

    short, number_cell, long_cell, _ = page.find("tbody").all("td")
    assert short.attributes.get("class") is None
    assert number_cell.attributes["class"] == "number"
    assert long_cell.attributes["class"] == "breaks"


def test_tags_are_no_part_of_a_long_word() -> None:
    column = Column(head="a", show=lambda row: tag("a", text("b"), href="h" * 300))
    page = shown_table([{"who": "a"}], [column])

    assert page.find("td").attributes.get("class") is None


def test_long_column_gets_more_room() -> None:
    page = shown_table([{"who": "a b"}], [words("who", "w", long=True)])

    assert page.find("td").attributes["class"] == "long"
