"""Tables for terminals: columns as wide as they must be; what clients chose is shown escaped."""

from collections.abc import Iterator, Sequence
from typing import Final

from trio_kafka.protocol.texts import printable

LEFT: Final = "<"
RIGHT: Final = ">"


def columns(
    head: Sequence[str], rows: Sequence[Sequence[str]], sides: Sequence[str]
) -> Iterator[str]:
    """Lines: the head, then the rows. sides: by column LEFT or RIGHT."""
    table = [head, *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = (
            f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()
