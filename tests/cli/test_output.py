"""Tables for terminals."""

from trio_kafka.cli.output import LEFT, RIGHT, columns


def test_columns_are_as_wide_as_they_must_be() -> None:
    assert list(columns(("name", "n"), [("a", "100"), ("longer", "7")], (LEFT, RIGHT))) == [
        "name      n",
        "a       100",
        "longer    7",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert list(columns(("a", "b"), [], (LEFT, LEFT))) == ["a  b"]


def test_what_a_terminal_could_take_for_more_than_text_is_escaped() -> None:
    assert list(columns(("a",), [("\x1b[2J\n",)], (LEFT,)))[1] == "\\x1b[2J\\n"
