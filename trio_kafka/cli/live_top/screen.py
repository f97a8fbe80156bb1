"""The screen as lines of styled pieces, for a terminal of a given size."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.cli.live_top.documents import Lane, Overview, Stage
from trio_kafka.cli.live_top.reading import Reading
from trio_kafka.cli.live_top.tables import TABLES, Cell, Column, ordered, text_of
from trio_kafka.cli.live_top.view import KEYS, View
from trio_kafka.protocol.texts import printable

PLAIN: Final = "plain"
BOLD: Final = "bold"
FAINT: Final = "faint"
REVERSED: Final = "reversed"
MOST_FINDINGS: Final = 5
_LONGEST_TEXT: Final = 60  # of a cell that is not the last of its row
_FOOT: Final = "1-5 table  s sort  r reverse  / filter  p pause  ? keys  q end"


@frozen
class Piece:
    """A text in one style: PLAIN, BOLD, FAINT, REVERSED, or a state (well, waits, watch, wrong)."""

    text: str
    style: str = PLAIN


Line = list[Piece]


def screen(reading: Reading, view: View, *, title: str, width: int, height: int) -> list[Line]:
    """Return at most `height` lines of at most `width` characters; the last one names the keys."""
    head = [*_head(reading, view, title, width), []]
    table = _help() if view.help else _table(reading, view)
    lines = [*head, *islice(table, max(height - len(head) - 1, 0))]
    lines = lines[: max(height - 1, 0)]
    lines += [[] for _ in range(height - 1 - len(lines))]
    return [fit(line, width) for line in [*lines, _foot(view)]]


def fit(line: Line, width: int) -> Line:
    """Cut a line after `width` characters. Control characters are shown escaped."""
    pieces, room = list[Piece](), width
    for piece in line:
        text = printable(piece.text)[:room]
        pieces.append(Piece(text, piece.style))
        room -= len(text)
    return pieces


def _head(reading: Reading, view: View, title: str, width: int) -> Iterator[Line]:
    paused = [Piece("  paused", "watch")] if view.paused else []
    yield [Piece(title, BOLD), *paused]
    if reading.overview is None:
        yield [Piece(reading.missing, FAINT)]
        return
    yield from _overview(reading.overview, width)


def _overview(overview: Overview, width: int) -> Iterator[Line]:
    yield [Piece(overview.headline.sentence)]
    yield [Piece(overview.headline.more, FAINT)]
    for lane in overview.lanes:
        yield from _wrapped(_stages(lane, is_only=len(overview.lanes) == 1), width)
    for finding in overview.findings[:MOST_FINDINGS]:
        yield [Piece(f"{finding.severity:<5}", finding.severity), Piece(f"  {finding.words}")]
    rest = len(overview.findings) - MOST_FINDINGS
    if rest > 0:
        yield [Piece(f"and {rest} more in the admin UI", FAINT)]


def _stages(lane: Lane, *, is_only: bool) -> Iterator[Piece]:
    if not is_only:
        yield Piece(f"{lane.plane}: ", BOLD)
    for number, stage in enumerate(lane.stages):
        arrow = " > " if number else ""
        yield Piece(f"{arrow}{_stage_words(stage)}", stage.state)


def _stage_words(stage: Stage) -> str:
    count = f"{stage.count:,.0f}"
    return f"{stage.title} {count} {stage.unit}"


def _wrapped(pieces: Iterable[Piece], width: int) -> Iterator[Line]:
    line, used = list[Piece](), 0
    for piece in pieces:
        if line and used + len(piece.text) > width:
            yield line
            line, used = [], 0
        line.append(piece)
        used += len(piece.text)
    if line:
        yield line


def _help() -> Iterator[Line]:
    for keys, words in KEYS:
        yield [Piece(f"{keys:<12}", BOLD), Piece(words)]


def _foot(view: View) -> Line:
    if view.typing:
        return [Piece(f"/{view.filter}", BOLD), Piece("_  Enter: keep  Esc: all rows", FAINT)]
    return [Piece(_FOOT, FAINT)]


def _table(reading: Reading, view: View) -> Iterator[Line]:
    table = TABLES[view.table]
    names: Line = []
    for number, other in enumerate(TABLES):
        style = REVERSED if number == view.table else PLAIN
        names += [Piece(f" {number + 1} {other.name} ", style)]
    if view.filter:
        names += [Piece(f"  contains {view.filter!r}", "watch")]
    yield names
    rows = [row for row in table.rows(reading) if _contains(row, view.filter)]
    rows = ordered(rows, table.columns, view.order, reverse=view.reverse)
    first = min(view.first, max(len(rows) - 1, 0))
    yield from _lines(rows[first:], table.columns, view)
    if not rows:
        yield [Piece("no rows", FAINT)]


def _contains(row: tuple[Cell, ...], text: str) -> bool:
    return any(text.lower() in str(cell).lower() for cell in row if isinstance(cell, str))


def _lines(rows: list[tuple[Cell, ...]], columns: Sequence[Column], view: View) -> Iterator[Line]:
    heads = [
        f"{column.name}{_ARROWS[view.reverse] if number == view.order else ''}"
        for number, column in enumerate(columns)
    ]
    cells = [
        [printable(text_of(cell, column)) for cell, column in zip(row, columns, strict=True)]
        for row in rows
    ]
    widths = [
        min(max(len(line[number]) for line in [heads, *cells]), _LONGEST_TEXT)
        for number in range(len(columns))
    ]
    yield [Piece(_row(heads, columns, widths), BOLD)]
    for line in cells:
        yield [Piece(_row(line, columns, widths))]


_ARROWS: Final = {False: " v", True: " ^"}


def _row(cells: list[str], columns: Sequence[Column], widths: list[int]) -> str:
    last = len(cells) - 1
    return "  ".join(
        cell
        if number == last and column.digits is None
        else f"{cell[:width]:{'<' if column.digits is None else '>'}{width}}"
        for number, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True))
    )
