"""The screen in a terminal, by curses: it draws, waits for keys and reads the broker again."""

import curses
import time
from collections.abc import Callable
from typing import Final

from trio_kafka.cli.live_top.reading import Reading
from trio_kafka.cli.live_top.screen import BOLD, FAINT, REVERSED, Line, screen
from trio_kafka.cli.live_top.view import DOWN, PAGE_DOWN, PAGE_UP, UP, View, press
from trio_kafka.introspect.snapshots import TreeSnapshot

_COLORS: Final = {"well": curses.COLOR_GREEN, "watch": curses.COLOR_YELLOW}
_COLORS_OF_TROUBLE: Final = {"waits": curses.COLOR_CYAN, "wrong": curses.COLOR_RED}
_KEYS: Final = {
    curses.KEY_DOWN: DOWN,
    curses.KEY_UP: UP,
    curses.KEY_NPAGE: PAGE_DOWN,
    curses.KEY_PPAGE: PAGE_UP,
    curses.KEY_ENTER: "\n",
    curses.KEY_BACKSPACE: "\b",
}


def show(read: Callable[[TreeSnapshot | None], Reading], *, title: str, interval_s: float) -> None:
    """Show readings until a person ends it by `q`.

    read: reads the broker; takes the tree of the reading before. Raises what `read` raises, and
    KeyboardInterrupt, with the terminal as it was.
    """
    first = read(None)  # before the screen opens: an error is a line below the command
    curses.wrapper(_loop, read, first, title, interval_s)


def _loop(
    window: curses.window,
    read: Callable[[TreeSnapshot | None], Reading],
    reading: Reading,
    title: str,
    interval_s: float,
) -> None:
    styles = _styles()
    view, due = View(), time.monotonic() + interval_s
    while not view.ended:
        _draw(window, reading, view, styles, f"{title}  {time.strftime('%H:%M:%S')}")
        window.timeout(max(int((due - time.monotonic()) * 1e3), 0))
        key = _key(window)
        if key:
            view = press(view, key)
        elif time.monotonic() >= due:
            if not view.paused:
                reading = read(reading.tree)
            due = time.monotonic() + interval_s


def _key(window: curses.window) -> str:
    """Return the key that was pressed; empty when the time was up, or for one without a use."""
    try:
        key = window.get_wch()
    except curses.error:
        return ""
    return key if isinstance(key, str) else _KEYS.get(key, "")


def _styles() -> dict[str, int]:
    styles = {BOLD: curses.A_BOLD, FAINT: curses.A_DIM, REVERSED: curses.A_REVERSE}
    if curses.has_colors():
        curses.use_default_colors()
        for number, (name, color) in enumerate({**_COLORS, **_COLORS_OF_TROUBLE}.items(), 1):
            curses.init_pair(number, color, -1)
            styles[name] = curses.color_pair(number)
    return styles


def _draw(
    window: curses.window, reading: Reading, view: View, styles: dict[str, int], title: str
) -> None:
    height, width = window.getmaxyx()
    lines = screen(reading, view, title=title, width=width, height=height)
    window.erase()
    for row, line in enumerate(lines):
        _draw_line(window, row, line, styles)
    window.refresh()


def _draw_line(window: curses.window, row: int, line: Line, styles: dict[str, int]) -> None:
    column = 0
    for piece in line:
        try:
            window.addstr(row, column, piece.text, styles.get(piece.style, curses.A_NORMAL))
        except curses.error:  # the cursor cannot go beyond the last place of the screen
            return
        column += len(piece.text)
