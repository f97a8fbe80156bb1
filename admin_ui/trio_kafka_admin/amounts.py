"""Amounts as people read them: bytes and times with a unit, three digits at most."""

from typing import Final

_BYTES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP: Final = 1024
_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 86_400


def byte_text(count: float) -> str:
    """Return bytes with a binary unit, as in "1.5 GiB"."""
    size, power = float(count), 0
    while abs(size) >= _STEP and power < len(_BYTES) - 1:
        size /= _STEP
        power += 1
    digits = 0 if not power or abs(size) >= 100 else 1
    return f"{size:,.{digits}f} {_BYTES[power]}"


def second_text(seconds: float) -> str:
    """Return a time with a unit, as in "12 ms", "3.1 s", "4 min 5 s", "2 h 3 min", "5 d 1 h"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"
