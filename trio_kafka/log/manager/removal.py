"""Delayed removal of the directories of deleted logs.

Source: file.delete.delay.ms.
"""

from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.world.world import World


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
    """Remove a directory with its files. An error takes the log directory offline."""
    try:
        # The new name first: half a directory must not look like a partition.
        await sync_names(directory.root)
        folder = directory.root.directory(name)
        for file in await names_in(folder):
            await folder.unlink(file)
        await directory.root.unlink(name)
    except OSError as error:
        directory.fail(error)
