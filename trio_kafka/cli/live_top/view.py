"""The choices that a person makes on the screen, and the keys that change them."""

from collections.abc import Callable, Mapping
from typing import Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.cli.live_top.tables import TABLES

ENTER: Final = ("\n", "\r")
ESCAPE: Final = "\x1b"
ERASE: Final = ("\x7f", "\b")
DOWN: Final = "down"
UP: Final = "up"
PAGE_DOWN: Final = "page down"
PAGE_UP: Final = "page up"
PAGE: Final = 10
LONGEST_FILTER: Final = 60
KEYS: Final = (
    ("1 to 5, Tab", "another table"),
    ("s", "sort by the next column"),
    ("r", "sort the other way round"),
    ("/", "show only rows that contain a text"),
    ("up, down", "scroll, also by page"),
    ("p", "pause, and go on"),
    ("?", "these keys"),
    ("q", "end"),
)


@frozen(kw_only=True)
class View:
    """View that is shown. table: number in TABLES. order: column that it is sorted by.

    typing: the filter is being typed. first: the first row that is shown.
    """

    table: int = 0
    order: int = TABLES[0].order
    reverse: bool = False
    filter: str = ""
    typing: bool = False
    paused: bool = False
    help: bool = False
    ended: bool = False
    first: int = 0


def press(view: View, key: str) -> View:
    """Return the view after a key. key: a character, or UP, DOWN, PAGE_UP, PAGE_DOWN."""
    if view.typing:
        return _type(view, key)
    if key.isdigit() and 1 <= int(key) <= len(TABLES):
        return _choose(view, int(key) - 1)
    return _ACTIONS[key](view) if key in _ACTIONS else view


def _scroll(rows: int) -> Callable[[View], View]:
    return lambda view: evolve(view, first=max(view.first + rows, 0))


def _sort_by_next(view: View) -> View:
    order = (view.order + 1) % len(TABLES[view.table].columns)
    return evolve(view, order=order, reverse=False)


_ACTIONS: Final[Mapping[str, Callable[[View], View]]] = {
    "\t": lambda view: _choose(view, (view.table + 1) % len(TABLES)),
    "s": _sort_by_next,
    "r": lambda view: evolve(view, reverse=not view.reverse),
    "/": lambda view: evolve(view, typing=True, filter="", first=0),
    "p": lambda view: evolve(view, paused=not view.paused),
    "?": lambda view: evolve(view, help=not view.help),
    "q": lambda view: evolve(view, ended=True),
    ESCAPE: lambda view: evolve(view, filter="", help=False, first=0),
    DOWN: _scroll(1),
    UP: _scroll(-1),
    PAGE_DOWN: _scroll(PAGE),
    PAGE_UP: _scroll(-PAGE),
}


def _choose(view: View, table: int) -> View:
    return evolve(view, table=table, order=TABLES[table].order, reverse=False, first=0)


def _type(view: View, key: str) -> View:
    if key in ENTER:
        return evolve(view, typing=False)
    if key == ESCAPE:
        return evolve(view, typing=False, filter="")
    if key in ERASE:
        return evolve(view, filter=view.filter[:-1])
    if len(key) == 1 and key.isprintable() and len(view.filter) < LONGEST_FILTER:
        return evolve(view, filter=view.filter + key, first=0)
    return view
