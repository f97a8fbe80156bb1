"""Tables for terminals."""

import os
import pty
import subprocess
import sys
from collections.abc import Sequence

import pytest

from trio_kafka.cli.output import LEAST, LEFT, RIGHT, columns, fitted, fixed_columns


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


@pytest.mark.parametrize(
    ("widths", "width", "fit"),
    [
        ([10, 5, 20], 39, [10, 5, 20]),
        ([10, 5, 20], 38, [10, 5, 19]),
        ([10, 5, 20], 28, [9, 5, 10]),
        ([10, 5, 20], 27, [9, 5, 9]),
        ([10, 5, 20], 1, [LEAST, 5, LEAST]),
        ([3, 30, 4], 1, [3, 30, 4]),
    ],
)
def test_widest_texts_are_cut_to_the_terminal_and_numbers_never(
    widths: Sequence[int], width: int, fit: Sequence[int]
) -> None:
    assert fitted(widths, (LEFT, RIGHT, LEFT), width) == fit


def test_table_is_cut_in_a_terminal_and_whole_in_a_pipe() -> None:
    table = "columns(('name', 'n'), [('a' * 40, '123456789')], (LEFT, RIGHT))"
    script = f"from trio_kafka.cli.output import *; print(*{table}, sep='\\n')"
    words = [sys.executable, "-c", script]
    environment = {**os.environ, "COLUMNS": "30"}
    control, terminal = pty.openpty()
    try:
        subprocess.run(words, env=environment, stdout=terminal, check=True, timeout=60)
        in_terminal = os.read(control, 10_000).decode().splitlines()
    finally:
        os.close(control)
        os.close(terminal)
    in_pipe = subprocess.check_output(words, env=environment, text=True, timeout=60).splitlines()

    assert in_terminal == ["name                         n", f"{'a' * 18}…  123456789"]
    assert in_pipe[1] == f"{'a' * 40}  123456789"
