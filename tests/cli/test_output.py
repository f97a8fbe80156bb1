"""Tables for terminals."""

from trio_kafka.cli.output import LEFT, RIGHT, columns, fixed_columns


def test_table_columns_are_as_wide_as_their_longest_cell() -> None:
    assert list(columns(("name", "n"), [("a", "100"), ("longer", "7")], (LEFT, RIGHT))) == [
        "name      n",
        "a       100",
        "longer    7",
    ]


def test_table_without_rows_shows_its_header() -> None:
    assert list(columns(("a", "b"), [], (LEFT, LEFT))) == ["a  b"]


def test_terminal_control_characters_in_a_table_are_escaped() -> None:
    assert list(columns(("a",), [("\x1b[2J\n",)], (LEFT,)))[1] == "\\x1b[2J\\n"


def test_long_cell_moves_the_rest_of_its_line() -> None:
    widths, sides = (4, 3), (LEFT, RIGHT)

    assert fixed_columns(("a", "1"), widths, sides) == "a       1"
    assert fixed_columns(("abcdefg", "1"), widths, sides) == "abcdefg    1"
    assert fixed_columns(("\x1b", "1"), widths, sides) == "\\x1b    1"
