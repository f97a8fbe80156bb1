"""Snapshots, shared by all readers: rates and recent events need two of them.

One is read at most once per `FRESH_S`, however many readers there are, and never without a
reader. All readers compare over the same window, so none hides an event from another.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, Protocol, TypeVar

import trio

from trio_kafka.introspect.snapshots import TreeSnapshot

FRESH_S: Final = 1.0
WINDOW_S: Final = 10.0  # age of the earlier snapshot
STALE_S: Final = 60.0  # older snapshots are not compared with
PAIR_S: Final = 0.5  # time between the first two snapshots of a pair that a reader waits for


class Dated(Protocol):
    """Value of one moment. at: that moment, in `trio.current_time()`."""

    @property
    def at(self) -> float: ...


S = TypeVar("S", bound=Dated)


class Snapshots(Generic[S]):
    """Recent snapshots. read: takes one, at `trio.current_time()`."""

    def __init__(self, read: Callable[[], Awaitable[S]]) -> None:
        self._read = read
        self._reading = trio.Lock()
        # The first is the newest one that is as old as the window, if there is one.
        self._kept: deque[S] = deque()

    async def pair(self) -> tuple[S, S]:
        """Return the same as `two`; if there is no earlier snapshot, wait PAIR_S and take another.

        The first viewer sees rates and recent events, too.
        """
        before, after = await self.two()
        if before is None:
            async with self._reading:
                if len(self._kept) == 1:  # other readers waited for this one
                    await trio.sleep(PAIR_S)
                    self._keep(await self._read())
                before, after = self._kept[0], self._kept[-1]
        return before, after

    async def two(self) -> tuple[S | None, S]:
        """Return the snapshot of WINDOW_S ago, or the nearest to it (None: there is none), and the
        newest. Raises what `read` raises.
        """
        async with self._reading:
            kept = self._kept
            if not kept or trio.current_time() - kept[-1].at >= FRESH_S:
                # A cancelled reader changes nothing.
                self._keep(await self._read())
            return (kept[0] if len(kept) > 1 else None), kept[-1]

    def _keep(self, look: S) -> None:
        kept = self._kept
        if kept and look.at - kept[-1].at > STALE_S:
            kept.clear()
        kept.append(look)
        while len(kept) > 2 and look.at - kept[1].at >= WINDOW_S:
            kept.popleft()


class TreeSnapshots(Snapshots[TreeSnapshot]):
    """Recent snapshots of the tree."""
