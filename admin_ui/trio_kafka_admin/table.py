"""HTML tables: declared columns over the rows that a page has as JSON.

A cell may carry a value to sort by, where its text does not sort well. It carries the head of its
column, too: where the screen is too narrow, the style sheet turns each row into a card with these
as labels. A table with many columns needs a wider screen.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from attrs import frozen

from trio_kafka_admin.markup import Html, Value, begin, join, tag, text

Row = Mapping[str, Any]
DASH: Final = Html("&ndash;")
_CHARACTER: Final = 8  # pixels
_PADDING: Final = 24
_NUMBER_WIDTH: Final = 80  # pixels of a column, with which it is still easy to read
_TEXT_WIDTH: Final = 135
_LONG_WIDTH: Final = 240
_WHOLE: Final = 9  # characters of a word that is never broken, such as PLAINTEXT
_SMALL: Final = 340  # a table as wide as this fits a phone
_NARROW: Final = 720  # a table as wide as this fits a screen of 760 px
_MIDDLE: Final = 1200  # one of 1240 px
_WIDE: Final = 1500  # one of 1560 px
_REUSED: Final = 2048  # texts of cells whose words are known: most are the same in the next tick
_TAG: Final = re.compile("<[^>]*>")


@frozen(kw_only=True)
class Column:
    """Column of a table. show: renders a cell. sort: returns its sort key; None: the text.

    long: its texts are long, so that it gets more room than others.
    """

    head: str
    show: Callable[[Row], Html]
    sort: Callable[[Row], Value] | None = None
    number: bool = False
    about: str = ""
    long: bool = False


def words(key: str, head: str, about: str = "", *, long: bool = False) -> Column:
    """Return a column of texts; None and empty texts are a dash."""
    return Column(head=head, show=lambda row: shown(row[key]), about=about, long=long)


def figures(key: str, head: str, *, digits: int = 0, about: str = "") -> Column:
    """Return a column of numbers with a number of decimals; None is a dash."""
    return Column(
        head=head,
        show=lambda row: number(row[key], digits),
        sort=lambda row: row[key],
        number=True,
        about=about,
    )


def shown(value: object) -> Html:
    """Return a text, or a dash for none."""
    return DASH if value is None or value == "" else text(value)


def number(value: float | None, digits: int = 0) -> Html:
    """Format a number with a thin space between thousands."""
    if value is None:
        return DASH
    return Html(f"{value:,.{digits}f}".replace(",", "&#8239;"))


def table(
    name: str,
    columns: Sequence[Column],
    rows: Iterable[Row],
    *,
    key: Callable[[Row], object],
    empty: str,
) -> Iterator[Html]:
    """Render the table in pieces of one row, or a sentence if there are no rows.

    name: key under which a browser remembers the order. key: identity of a row, which keeps it
    in place when the page refreshes, so that a click never hits another row.
    """
    begun = False
    longest, cells = _longest_word(columns), [_cells(column) for column in columns]
    for row in rows:
        if not begun:
            begun = True
            heads = [
                tag(
                    "th",
                    text(column.head),
                    title=column.about or None,
                    class_=_class(column),
                    scope="col",
                )
                for column in columns
            ]
            start = begin("table", id=name, class_=_width_class(columns))
            yield join([start, tag("thead", tag("tr", *heads)), begin("tbody")])
        shown_cells = "".join([cell.cell(row, longest) for cell in cells])
        yield Html(f'<tr data-key="{text(key(row))}">{shown_cells}</tr>')
    yield Html("</tbody></table>") if begun else tag("p", text(empty), class_="empty")


@frozen
class _Cells:
    """Start tags of the cells of a column, made once: a page may have 50,000 cells."""

    column: Column
    usual: str
    broken: str

    def cell(self, row: Row, longest: int) -> Html:
        content = self.column.show(row)
        start = self.usual
        # Only where it must be is a word broken: broken short ones are hard to read.
        if len(content) > longest and not self.column.number and _has_word(content, longest):
            start = self.broken
        value = None if self.column.sort is None else self.column.sort(row)
        if value is None:
            return Html(f"{start}>{content}</td>")
        shown_value = text(value) if isinstance(value, str) else value
        return Html(f'{start} data-value="{shown_value}">{content}</td>')


def _cells(column: Column) -> _Cells:
    label = column.head or None
    usual = begin("td", class_=_class(column), data_label=label)
    broken = begin("td", class_=_class(column, breaks=True), data_label=label)
    return _Cells(column, usual.removesuffix(">"), broken.removesuffix(">"))


@lru_cache(_REUSED)
def _has_word(content: Html, longest: int) -> bool:
    """Return whether a word of the text, without tags, is longer than `longest`."""
    words = _TAG.sub(" ", content).split() if "<" in content else content.split()
    return any(len(word) > longest for word in words)


def _width_class(columns: Sequence[Column]) -> str:
    """Return the class that tells the style sheet from which width on the rows fit a line."""
    width = sum(map(_width, columns))
    if width <= _NARROW:
        return "data small" if width <= _SMALL else "data"
    return "data middle" if width <= _MIDDLE else "data wide"


def _longest_word(columns: Sequence[Column]) -> int:
    """Return the characters of the longest words with which all columns fit the screen."""
    width = sum(map(_width, columns))
    screen = next((limit for limit in (_SMALL, _NARROW, _MIDDLE) if width <= limit), _WIDE)
    texts = sum(not column.number for column in columns)
    room = screen - _NUMBER_WIDTH * (len(columns) - texts)
    return max((room // max(texts, 1) - _PADDING) // _CHARACTER, _WHOLE)


def _width(column: Column) -> int:
    if column.long:
        return _LONG_WIDTH
    return _NUMBER_WIDTH if column.number else _TEXT_WIDTH


def _class(column: Column, *, breaks: bool = False) -> str | None:
    names = [
        *(["number"] if column.number else ()),
        *(["long"] if column.long else ()),
        *(["breaks"] if breaks else ()),
    ]
    return " ".join(names) or None
