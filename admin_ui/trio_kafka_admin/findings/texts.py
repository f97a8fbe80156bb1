"""Amounts in words."""

from typing import Final

MINUTE_S: Final = 60.0
_KINDS: Final = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
LONGEST: Final = 120  # characters of a name that a client chose


def duration(seconds: float) -> str:
    """Return a time in words: seconds with a decimal below 10, then seconds, minutes, hours."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < MINUTE_S:
        return f"{seconds:.0f} s"
    minutes = round(seconds / MINUTE_S)
    if minutes >= 120:
        return f"{round(minutes / 60)} hours"
    return counted(minutes, "minute")


def counted(count: float, noun: str, plural: str = "") -> str:
    """Return a number and its noun: "1 client", "2 clients"."""
    return f"{count:,.0f} {noun if count == 1 else plural or f'{noun}s'}"


def amount(size: float) -> str:
    """Return a number of bytes in words."""
    for kind, unit in _KINDS:
        if size >= unit:
            return f"{size / unit:,.1f} {kind}"
    return f"{size:,.0f} B"


def short(name: str) -> str:
    """Return a name that a client chose, cut; a dash for an empty one."""
    if not name:
        return "without an id"
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
