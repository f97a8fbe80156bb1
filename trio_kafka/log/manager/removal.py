"""Delayed removal of the directories of deleted logs.

What an operator has removed already is gone, and what an operator has put there stays: neither says
anything about the disk. Any other error takes the log directory offline.
Source: file.delete.delay.ms.
"""

import errno
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_ATTEMPTS: Final = (
    3  # files that appear meanwhile: a killed worker process may take a moment to end
)
# A name that is of another kind than the broker has left it, or a directory that is not empty.
_CHANGED_BY_OTHERS: Final = frozenset({errno.ENOTDIR, errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST})
_logger: Final = get_logger(__name__)


@frozen
class _Entry:
    due_ms: int
    directory: LogDirectory
    name: str


@define(eq=False)
class Removal:
    """Directories to be removed. on_added: called when one was added, to schedule `remove_due`."""

    world: World
    on_added: Callable[[], None] = field(default=lambda: None, init=False)
    _entries: list[_Entry] = field(factory=list, init=False)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, directory: LogDirectory, name: str, delay_ms: int) -> None:
        """Remove `name` in `directory` after so many milliseconds."""
        self._entries.append(_Entry(self._now_ms() + delay_ms, directory, name))
        self.on_added()

    async def remove_due(self) -> float | None:
        """Remove the directories whose delay is over. Return the seconds until the next is due, or
        None.
        """
        await trio.lowlevel.checkpoint()
        now = self._now_ms()
        # One by one: others may be added meanwhile, and another call may be running.
        while due := next((entry for entry in self._entries if entry.due_ms <= now), None):
            self._entries.remove(due)
            if due.directory.offline is None:
                await _remove(due.directory, due.name)
        return min(((entry.due_ms - now) / 1000 for entry in self._entries), default=None)

    def _now_ms(self) -> int:
        return int(self.world.clock.wall() * 1000)


async def _remove(directory: LogDirectory, name: str) -> None:
    """Remove a directory with its files. An error of the disk takes the log directory offline."""
    try:
        # The new name first: half a directory must not look like a partition.
        await sync_names(directory.root)
        with suppress(FileNotFoundError):
            await _remove_tree(directory.root, name)
    except OSError as error:
        if error.errno not in _CHANGED_BY_OTHERS:
            directory.fail(error)
            return
        # The next start tries again.
        path = f"{directory.path}/{name}"
        _logger.warning("deleted partition not removed", path=path, reason=str(error))


async def _remove_tree(root: Directory, name: str) -> None:
    """Remove a directory and its files. FileNotFoundError: it is gone already; OSError."""
    folder = root.directory(name)
    for attempt in range(1, _ATTEMPTS + 1):
        for file in await names_in(folder):
            with suppress(FileNotFoundError):
                await folder.unlink(file)
        try:
            await root.unlink(name)
        except OSError as error:
            if error.errno not in _CHANGED_BY_OTHERS or attempt == _ATTEMPTS:
                raise
        else:
            return
