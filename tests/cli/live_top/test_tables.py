"""Tables of the live screen."""

from tests.cli.live_top.kit import reading
from trio_kafka.cli.live_top.tables import TABLES, Column, ordered, text_of


def test_each_table_has_a_cell_for_each_column() -> None:
    for table in TABLES:
        rows = list(table.rows(reading()))
        assert rows
        assert {len(row) for row in rows} == {len(table.columns)}
        assert table.order < len(table.columns)


def test_numbers_are_sorted_from_the_largest_and_missing_ones_are_last_in_both_directions() -> None:
    columns = (Column("name"), Column("number", 1))
    rows = [("b", 1.0), ("a", None), ("c", 3)]

    assert ordered(rows, columns, 1, reverse=False) == [("c", 3), ("b", 1.0), ("a", None)]
    assert ordered(rows, columns, 1, reverse=True) == [("b", 1.0), ("c", 3), ("a", None)]
    assert [row[0] for row in ordered(rows, columns, 0, reverse=False)] == ["a", "b", "c"]
    assert [row[0] for row in ordered(rows, columns, 0, reverse=True)] == ["c", "b", "a"]


def test_cells_show_a_dash_for_what_is_missing() -> None:
    assert text_of(None, Column("n", 1)) == "-"
    assert text_of(0.0, Column("n", 1)) == "0.0"
    assert text_of(12345.6, Column("n", 0)) == "12,346"
    assert text_of("", Column("t")) == "-"
