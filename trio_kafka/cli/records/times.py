"""Points in time as options: milliseconds, ISO 8601, or so long ago."""

import re
import time
from datetime import UTC, datetime
from typing import Final

from trio_kafka.cli import CommandFailedError

_AGO: Final = re.compile(r"(\d+)(ms|s|m|h|d|w)")
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


def parse_time(text: str, now_ms: int) -> int:
    """Return milliseconds since 1970. Raises ValueError."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return max(now_ms - int(ago[1]) * _UNITS_MS[ago[2]], 0)
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
