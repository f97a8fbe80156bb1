"""Output of commands on a terminal: tables for people, JSON for programs.

Texts that clients chose are shown escaped in tables.
"""

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from trio_kafka.protocol.texts import printable
from trio_kafka.strict_json import dump_json

T = TypeVar("T")
LEFT: Final = "<"
RIGHT: Final = ">"
LEAST: Final = 8
"""Characters that a text keeps in a narrow terminal."""
_GAP: Final = "  "


def columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a table: the head, then the rows.

    sides: LEFT or RIGHT for each column. If the output is a terminal, texts are cut to its width;
    numbers, on the right side, never are.
    """
    table = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    if sys.stdout.isatty():
        widths = fitted(widths, sides, shutil.get_terminal_size().columns)
    template = _GAP.join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    for row in table:
        yield template.format(*map(_cut, row, widths)).rstrip()


def fitted(widths: Sequence[int], sides: Sequence[str], width: int) -> list[int]:
    """Return widths of columns for a terminal: the widest columns of texts are cut.

    None is cut below LEAST characters, so that a table may stay too wide.
    """
    fit = list(widths)
    excess = sum(fit) + len(_GAP) * (len(fit) - 1) - width
    while excess > 0:
        texts = [index for index, side in enumerate(sides) if side == LEFT and fit[index] > LEAST]
        if not texts:
            break
        fit[max(texts, key=lambda index: fit[index])] -= 1
        excess -= 1
    return fit


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}…"


def fixed_columns(cells: Sequence[str], widths: Sequence[int], sides: Sequence[str]) -> str:
    """Return one line of a table whose rows come one by one; a longer cell moves the rest."""
    shown = (
        f"{printable(cell):{side}{width}}"
        for cell, side, width in zip(cells, sides, widths, strict=True)
    )
    return "  ".join(shown).rstrip()


def declare_json(parser: ArgumentParser, shape: str) -> None:
    """Declare the argument `json`. shape: description of the document, for the help text."""
    parser.add_argument("--json", action="store_true", help=f"print {shape}")


def print_answer(
    answer: T, data: Callable[[T], object], lines: Callable[[T], Iterable[str]], *, json: bool
) -> int:
    """Print an answer as one JSON document, made by `data`, or as lines; return the status 0."""
    if json:
        print_json(data(answer))
    elif shown := list(lines(answer)):
        print("\n".join(shown))  # once: a write for each of 10,000 lines takes 0.05 s
    return 0


def print_json(document: object) -> None:
    """Print one JSON document over several lines."""
    print(dump_json(document, indent=2))


def print_json_line(document: object) -> None:
    """Print one JSON document on a line of its own, at once: the reader may be waiting for it."""
    print(dump_json(document), flush=True)
