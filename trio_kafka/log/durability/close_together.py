"""Close of all logs of a directory: everything is written, then the filesystem is synced once.

One by one, each log would wait for the disk six times: 9,000 partitions took 31 s and more. Files
are closed as soon as they are written, so descriptors do not limit how many logs there are.
A file that replaces another one is written beside it, synced, renamed, and synced again.
"""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import LogDirError
from trio_kafka.log.durability.sync import close, write_producers
from trio_kafka.log.files.checkpoints import LEADER_EPOCHS, checkpoint_text
from trio_kafka.log.files.descriptor_retry import when_free, when_free_now
from trio_kafka.log.files.operations import CreateFile, run_now
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.log import Log
from trio_kafka.world.protocols import Directory

_FEW: Final = 16  # logs: a sync of the whole filesystem may have to wait for others' data
_TEMPORARY: Final = ".tmp"


@frozen
class _NewContent:
    """A new content of a small file, in `<name>.tmp`."""

    directory: Directory
    name: str


async def close_together(root: Directory, logs: Sequence[Log]) -> None:
    """Close the logs of a directory as `close` does. LogDirError, OSError.

    No other task may use them. Other tasks run between two logs.
    """
    await trio.lowlevel.checkpoint()
    many = len(logs) > _FEW and not any(log.failed or log.closed for log in logs)
    if many and await when_free(
        # The first sync finds out whether this is possible, and leaves little for the others.
        lambda: root.sync_all([log.directory for log in logs])
    ):
        await _Close(root, logs).run()
    else:
        for log in logs:
            await close(log)


@define(eq=False)
class _Close:
    """One close of many logs."""

    root: Directory
    logs: Sequence[Log]

    async def run(self) -> None:
        if new := [log for log in self.logs if log.unsynced.new]:
            await new[0].lower_checkpoints(*new)
        staged: list[_NewContent] = []
        for log in self.logs:
            async with log.writer.turn("close"):
                await self._write(log, staged)
                for segment in log.segments:
                    segment.close()
        await self._sync()
        if staged:
            for number, file in enumerate(staged):
                file.directory.rename(f"{file.name}{_TEMPORARY}", file.name)
                if not number % _FEW:
                    await trio.lowlevel.checkpoint()
            await self._sync()
        now_ms = self.logs[0].now_ms()
        for log in self.logs:
            log.abandon()
            waited_for = log.durable_end < log.end_offset
            log.epochs.dirty = False
            log.unsynced.all_durable()
            log.last_sync_ms = now_ms
            log.recovery_point = log.end_offset
            if waited_for:
                log.on_durable()

    async def _write(self, log: Log, staged: list[_NewContent]) -> None:
        """Write all that a clean start needs. LogDirError."""
        directory = log.directory
        try:
            await when_free_now(lambda: run_now(log.segments.active.write_indexes()))
            await when_free_now(lambda: write_producers(log))
            if log.epochs.dirty:
                content = checkpoint_text(log.epochs.rows)
                staged.append(await _stage(directory, LEADER_EPOCHS, content))
            if owed := log.unsynced.owed:  # a new log has no such file yet
                await _create(directory, PARTITION_METADATA, owed)
        except OSError as error:
            log.fail(error)

    async def _sync(self) -> None:
        if not await when_free(lambda: self.root.sync_all(())):
            raise LogDirError(self.root.path, "the filesystem can no longer be synced")


async def _stage(directory: Directory, name: str, content: bytes) -> _NewContent:
    await _create(directory, f"{name}{_TEMPORARY}", content)
    return _NewContent(directory, name)


async def _create(directory: Directory, name: str, content: bytes) -> None:
    file = await when_free_now(CreateFile(directory, name, content, replace=True).now)
    file.close()
