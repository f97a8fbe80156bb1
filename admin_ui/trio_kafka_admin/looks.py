"""A look at the tree and the one before it, for all who ask: rates need two.

However many ask, the tree is read once in `FRESH_S` at most, and never while nobody asks.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.introspect.looks import Look

FRESH_S: Final = 1.0


class Looks:
    """read: one look, at `trio.current_time()`."""

    def __init__(self, read: Callable[[], Awaitable[Look]]) -> None:
        self._read = read
        self._reading = trio.Lock()
        self._before: Look | None = None
        self._after: Look | None = None

    async def two(self) -> tuple[Look | None, Look]:
        """The one before, None where there is none, and the newest. Raises what `read` raises."""
        async with self._reading:
            newest = self._after
            if newest is None or trio.current_time() - newest.at >= FRESH_S:
                # Who is cancelled here leaves all as it was.
                read = await self._read()
                self._before, self._after = newest, read
                newest = read
            return self._before, newest
