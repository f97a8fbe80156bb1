"""Directories of logs that left service wait for their time, then their files go.

Source: file.delete.delay.ms.
"""

from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import LogDirError
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
    """on_added: called when something new waits for `remove_due`."""

    world: World
    on_added: Callable[[], None] = field(default=lambda: None, init=False)
    _entries: list[_Entry] = field(factory=list, init=False)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, directory: LogDirectory, name: str, delay_ms: int) -> None:
        """Let `name` in `directory` go after so many milliseconds."""
        self._entries.append(_Entry(self._now_ms() + delay_ms, directory, name))
        self.on_added()

    async def remove_due(self) -> float | None:
        """Remove the files whose delay is over; seconds until the next ones are due, None: none."""
        await trio.lowlevel.checkpoint()
        now = self._now_ms()
        # One by one: while files go others are added, and another call may be at work.
        while due := next((entry for entry in self._entries if entry.due_ms <= now), None):
            self._entries.remove(due)
            if due.directory.offline is None:
                await _remove(due.directory, due.name)
        return min(((entry.due_ms - now) / 1000 for entry in self._entries), default=None)

    def _now_ms(self) -> int:
        return int(self.world.clock.wall() * 1000)


async def _remove(directory: LogDirectory, name: str) -> None:
    """An error takes the directory offline."""
    try:
        await sync_names(directory.root)  # the new name first: half a directory is no partition
        folder = directory.root.directory(name)
        for file in await names_in(folder):
            await folder.unlink(file)
        await directory.root.unlink(name)
    except OSError as error:
        directory.fail(LogDirError(directory.path, str(error)))
