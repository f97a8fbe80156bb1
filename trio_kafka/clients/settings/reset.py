"""Values of `auto.offset.reset`: where a consumer begins without a valid position (KIP-1106)."""

import re
from typing import Final

from trio_kafka.attributes import frozen

EARLIEST: Final = -2  # timestamps of ListOffsets that stand for the ends of a log
LATEST: Final = -1
_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?"
    r"(?:(?P<seconds>\d+)(?:\.(?P<fraction>\d{1,9}))?S)?)?",
    re.IGNORECASE,
)
_BY_DURATION: Final = "by_duration:"
_NAMES: Final = {"latest": LATEST, "earliest": EARLIEST, "none": None}


@frozen(kw_only=True)
class OffsetReset:
    """Where to begin. timestamp: EARLIEST, LATEST, or None. back_ms: so long ago, or None.

    Neither is set for `none`: the consumer raises an error instead.
    """

    timestamp: int | None = None
    back_ms: int | None = None

    def timestamp_at(self, now_ms: int) -> int | None:
        """Return the timestamp for ListOffsets; None: there is no reset."""
        return self.timestamp if self.back_ms is None else max(now_ms - self.back_ms, 0)


def parse_reset(text: str) -> OffsetReset:
    """Return a reset. Raises ValueError for an unknown name, or a duration that is none."""
    name = text.strip().lower()
    if name in _NAMES:
        return OffsetReset(timestamp=_NAMES[name])
    if name.startswith(_BY_DURATION):
        return OffsetReset(back_ms=parse_duration(name.removeprefix(_BY_DURATION)))
    raise ValueError(f"{text!r} is not one of {', '.join(_NAMES)}, by_duration:PnDTnHnMn.nS")


def parse_duration(text: str) -> int:
    """Return the milliseconds of an ISO 8601 duration, `PnDTnHnMn.nS`. Raises ValueError."""
    match = _DURATION.fullmatch(text)
    fields = {} if match is None else match.groupdict()
    if not any(fields.values()) or text[-1:] in "tT":
        raise ValueError(f"{text!r} is no duration: want PnDTnHnMn.nS, such as P1D or PT1H30M")
    days, hours, minutes, seconds = (
        int(fields[name] or 0) for name in ("days", "hours", "minutes", "seconds")
    )
    fraction_ms = int((fields["fraction"] or "").ljust(3, "0")[:3])
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + fraction_ms
