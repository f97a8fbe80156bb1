"""Dots of the picture: one for each connection, handler, parked request, group or directory."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Subject

DotState = Literal["idle", "busy", "free", "taken", "parked", "good", "waits", "watch", "wrong"]
"""idle, busy: connections. free, taken: handlers. good: serves. waits: on purpose, for long."""
MOST: Final = 60  # dots of one row
_RANK: Final[tuple[DotState, ...]] = ("wrong", "watch", "waits", "busy", "taken", "parked")


@frozen
class Dot:
    """One thing. words: what it is and what it does, for readers of the picture and of its text.

    subject: what it leads to; None: nothing. key: identity, from one picture to the next.
    """

    state: DotState
    words: str
    subject: Subject | None
    key: str


@frozen
class DotRow:
    """Dots under one label. words: what stands behind them. more: further things without a dot."""

    label: str
    dots: Sequence[Dot]
    words: str = ""
    more: int = 0


def dot_row(label: str, dots: Iterable[Dot], words: str = "", *, most: int = MOST) -> DotRow:
    """Return a row of at most `most` dots, those with trouble first if not all find room."""
    kept = list(dots)
    more = len(kept) - most
    if more > 0:
        kept = sorted(kept, key=_rank)[:most]
    return DotRow(label, kept, words, max(more, 0))


def _rank(dot: Dot) -> int:
    return _RANK.index(dot.state) if dot.state in _RANK else len(_RANK)
