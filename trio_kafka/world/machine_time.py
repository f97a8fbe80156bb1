"""Time of the machine for a broker inside a test, which may freeze or move the time of its process.

freezegun replaces `time.time`, `time.perf_counter` and `time.monotonic` in every module;
time-machine changes `time.time` and CLOCK_REALTIME in C. Neither touches other clocks of the
system. So elapsed time is CLOCK_MONOTONIC, which `time.perf_counter` reads on Linux too. Wall time
is CLOCK_TAI less its whole seconds ahead of CLOCK_REALTIME_COARSE, which is 4 ms late at most.
Source: freezegun 1.5, time-machine 3.6. A broker of its own process needs none of this.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

_TAI: Final[int | None] = getattr(time, "CLOCK_TAI", None)  # Linux
_REALTIME_COARSE: Final = 5  # of Linux; Python has no name for it

elapsed: Final[Callable[[], float]] = partial(time.clock_gettime, time.CLOCK_MONOTONIC)
"""Returns seconds for differences."""


def wall() -> float:
    """Return seconds since 1970."""
    if _TAI is None:
        return time.time()
    now = time.clock_gettime(_TAI)
    return now - round(now - time.clock_gettime(_REALTIME_COARSE))
