"""Cells that pages about groups, topics and clients share: names, spans of time, partitions."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from trio_kafka_admin.amounts import byte_text
from trio_kafka_admin.markup import Html, text
from trio_kafka_admin.page import Place
from trio_kafka_admin.sparkline import sparkline
from trio_kafka_admin.table import DASH, Column, Row

LONGEST: Final = 80  # characters of a name that are shown
_LONGEST_LINKED: Final = 1000  # a longer name makes an address that servers refuse
_REUSED: Final = 2000  # links of names: most are the same in the next tick
_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_RANGES: Final = 12  # runs of partitions that are shown
HISTORY_S: Final = 15 * 60.0


@lru_cache(_REUSED)
def name_link(name: str, page: str, place: Place) -> Html:
    """Return a name as a link to the page about it. A long name is cut, and a very long one is no
    link.
    """
    if not name:
        return DASH
    shown = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    try:
        name.encode()
    except UnicodeEncodeError:  # a lone surrogate has no address
        return text(shown)
    return text(shown) if len(name) > _LONGEST_LINKED else place.link(shown, page, name=name)


def named(key: str, head: str, page: str, place: Place) -> Column:
    """Return a column of names that link to a page."""
    return Column(
        head=head,
        show=lambda row: name_link(row[key] or "", page, place),
        sort=lambda row: row[key],
    )


def span(seconds: float | None) -> str:
    """Return a time in words of at most two units; empty for none."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 2 * _MINUTE_S:
        return f"{whole} s"
    if whole < 2 * _HOUR_S:
        return f"{whole // _MINUTE_S} min {whole % _MINUTE_S} s"
    return f"{whole // _HOUR_S} h {whole % _HOUR_S // _MINUTE_S} min"


def spans(key: str, head: str, about: str = "") -> Column:
    """Return a column of times in seconds."""
    return Column(
        head=head,
        show=lambda row: text(span(row[key])) if row[key] is not None else DASH,
        sort=lambda row: row[key],
        number=True,
        about=about,
    )


def sizes(key: str, head: str, about: str = "") -> Column:
    """Return a column of bytes, with a unit."""
    return Column(
        head=head,
        show=lambda row: DASH if row[key] is None else text(byte_text(row[key])),
        sort=lambda row: row[key],
        number=True,
        about=about,
    )


def charts(key: str, head: str, noun: str) -> Column:
    """Return a column of sparklines over HISTORY_S."""
    return Column(head=head, show=_chart(key, noun), about=f"{noun} in the last 15 minutes")


def _chart(key: str, noun: str) -> Callable[[Row], Html]:
    return lambda row: sparkline(row[key], window_s=HISTORY_S, noun=noun)


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as runs, as in "0-3, 7", of which at most a few are shown."""
    runs = list[tuple[int, int]]()
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    words = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_RANGES]]
    more = [f"{len(runs) - _RANGES} more runs"] if len(runs) > _RANGES else []
    return ", ".join([*words, *more])


def assignment(assigned: Mapping[str, Sequence[int]]) -> str:
    """Return topics with their partitions, as in "orders 0-3; returns 1"; at most a few topics."""
    topics = list(assigned.items())
    words = [f"{_cut(topic)} {ranges(numbers)}" for topic, numbers in topics[:_RANGES]]
    more = [f"{len(topics) - _RANGES} more topics"] if len(topics) > _RANGES else []
    return "; ".join([*words, *more])


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
