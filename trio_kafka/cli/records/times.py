"""Points in time as options: milliseconds, ISO 8601, or so long ago."""

import re
import time
from datetime import UTC, datetime
from typing import Final

from trio_kafka.cli import CommandFailedError

_DURATION: Final = re.compile(r"(\d+)(ms|s|m|h|d|w)")
_UNITS_MS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
TIME_FORMS: Final = (
    "milliseconds since 1970, ISO 8601 (UTC without a zone), or so long ago: 10m, 2h"
)


def parse_duration(text: str) -> int:
    """Return the milliseconds of a text such as `90s`, `12h` or `7d`. Raises ValueError."""
    duration = _DURATION.fullmatch(text)
    if duration is None:
        raise ValueError(f"{text!r} is not a duration: want a number with ms, s, m, h, d or w")
    return int(duration[1]) * _UNITS_MS[duration[2]]


def parse_time(text: str, now_ms: int) -> int:
    """Return milliseconds since 1970. Raises ValueError."""
    if _DURATION.fullmatch(text):
        return max(now_ms - parse_duration(text), 0)
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a time: want {TIME_FORMS}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def time_option(option: str, text: str) -> int:
    """Return milliseconds since 1970 for the text of an option. Raises CommandFailedError."""
    try:
        return parse_time(text, int(time.time() * 1000))
    except ValueError as error:
        raise CommandFailedError(f"{option}: {error}") from error


def show_time(timestamp_ms: int) -> str:
    """Return a time in ISO 8601, UTC; `-` for none."""
    if timestamp_ms < 0:
        return "-"
    moment = datetime.fromtimestamp(timestamp_ms / 1000, tz=UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
