"""Warnings before the file system of a log directory is full.

A directory that cannot be written to goes offline with all of its partitions. An operator needs to
know before. The check is cheap: one `statvfs` for each directory.
"""

from collections.abc import Callable
from typing import Final, TypedDict

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.manager.description import UNKNOWN_SPACE, space_of
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.world.protocols import Space

EVERY_S: Final = 30.0
_SOON_S: Final = 600.0  # a disk that is full within this time is warned of, however large it is
_MIB: Final = 1 << 20
_logger: Final = get_logger(__name__)


@define(eq=False, kw_only=True)
class _DiskState:
    """One directory. warned_at: free bytes at the last warning; None: there is enough space."""

    space: Space
    at: float
    full_in_s: float | None = None
    warned_at: int | None = None

    @property
    def free_percent(self) -> float:
        return 100 * self.space.usable / max(self.space.total, 1)

    def note(self, space: Space, now: float) -> None:
        """Take over a measurement, and estimate when the disk is full."""
        lost, passed = self.space.usable - space.usable, now - self.at
        rate = lost / passed if passed > 0 else 0.0
        self.full_in_s = space.usable / rate if rate > 0 else None
        self.space, self.at = space, now


@define(eq=False)
class DiskSpace:
    """Free space of all directories. least_percent: returns the limit in force; 0: no warnings."""

    directories: Callable[[], list[LogDirectory]]
    least_percent: Callable[[], int]
    _watched: dict[str, _DiskState] = field(factory=dict, init=False)

    def figures(self) -> Figures:
        """Return the free space by path, in percent, for the tree."""
        return {path: round(disk.free_percent, 1) for path, disk in self._watched.items()}

    async def check(self) -> None:
        """Measure the space of each directory; log a warning for one that is nearly full."""
        await trio.lowlevel.checkpoint()
        for directory in self.directories():
            try:
                space = await space_of(directory)
            except OSError:
                continue  # if the directory has vanished, the next checkpoint finds out
            if space != UNKNOWN_SPACE:
                self._note(directory.path, space)

    def _note(self, path: str, space: Space) -> None:
        now = trio.current_time()
        watched = self._watched.setdefault(path, _DiskState(space=space, at=now))
        watched.note(space, now)
        least = self.least_percent()
        soon = watched.full_in_s is not None and watched.full_in_s < _SOON_S
        if least and (watched.free_percent < least or soon):
            # Again only when half of that space is gone: one line a check would hide others.
            if watched.warned_at is None or space.usable <= watched.warned_at // 2:
                watched.warned_at = space.usable
                _logger.warning("disk nearly full", path=path, **_fields(watched))
        elif watched.warned_at is not None and watched.free_percent > least + 1:
            watched.warned_at = None
            _logger.info("disk has space again", path=path, **_fields(watched))


class _Fields(TypedDict):
    free_mib: int
    free_percent: str
    full_in: str


def _fields(watched: _DiskState) -> _Fields:
    full_in_s = watched.full_in_s
    return {
        "free_mib": watched.space.usable // _MIB,
        "free_percent": f"{watched.free_percent:.1f}",
        "full_in": "unknown" if full_in_s is None else f"{round(full_in_s)} s",
    }
