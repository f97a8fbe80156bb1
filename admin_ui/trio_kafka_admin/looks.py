"""Looks at the tree over a short time, for all who ask: rates, and what happened of late, need two.

However many ask, the tree is read once in `FRESH_S` at most, and never while nobody asks. All see
the same time back, so that nobody misses what happened because somebody else has looked.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.introspect.snapshots import Look

FRESH_S: Final = 1.0
WINDOW_S: Final = 10.0  # so far back it is looked
STALE_S: Final = 60.0  # what was before that is not compared with


class Looks:
    """read: one look, at `trio.current_time()`."""

    def __init__(self, read: Callable[[], Awaitable[Look]]) -> None:
        self._read = read
        self._reading = trio.Lock()
        # The first is the last one that is as old as the window, if there is one.
        self._kept: deque[Look] = deque()

    async def two(self) -> tuple[Look | None, Look]:
        """One of WINDOW_S ago, or as near to that as there is, None if there is none; and the
        newest. Raises what `read` raises.
        """
        async with self._reading:
            kept = self._kept
            if not kept or trio.current_time() - kept[-1].at >= FRESH_S:
                # Who is cancelled here leaves all as it was.
                self._keep(await self._read())
            return (kept[0] if len(kept) > 1 else None), kept[-1]

    def _keep(self, look: Look) -> None:
        kept = self._kept
        if kept and look.at - kept[-1].at > STALE_S:
            kept.clear()
        kept.append(look)
        while len(kept) > 2 and look.at - kept[1].at >= WINDOW_S:
            kept.popleft()
