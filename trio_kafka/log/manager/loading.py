"""Load of every partition of every directory when a broker starts.

A directory that fails goes offline; the others continue. Deleted directories are removed when their
delay is over. Strays stay, and each start logs their paths.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync_queue import sync_if_open
from trio_kafka.log.files.checkpoints import RECOVERY_POINTS, read_file
from trio_kafka.log.files.descriptor_retry import names_in, when_free, when_free_now
from trio_kafka.log.files.names import DELETE, STRAY, parse_directory
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.files.partition_metadata import decode
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.foreign_files import OWN_FILES, why_foreign
from trio_kafka.log.manager.identity import IdentityError
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.recovery.partition import open_log
from trio_kafka.log.recovery.progress import DirectoryProgress, LogProgress
from trio_kafka.model import METADATA_TOPIC, TopicId, TopicPartition

# A worker takes 0.4 s of CPU to start; the loop checks 128 MiB in batches of 16 kB in half of that,
# in batches of 300 B in 4 s.
WORKER_BYTES: Final = 128 << 20
_logger: Final = get_logger(__name__)


async def load_logs(
    logs: LogManager,
    config_of: Callable[[TopicPartition], LogConfig],
    *,
    delete_delay_ms: int = 60_000,
    topic_id_of: Callable[[str], TopicId | None] = lambda _: None,
    producers_silent_ms: int | None = None,
    at_once: int = 1,
    worker_bytes: int = WORKER_BYTES,
) -> None:
    """Load every partition of every directory.

    at_once: logs of one directory that are loaded at a time. Directories do not wait for one
        another.
    worker_bytes: segments with at least so many bytes to check are checked in worker processes, if
        the extra `workers` is installed.
    producers_silent_ms: producers silent for longer are not taken from a snapshot.
    topic_id_of: returns the id of a topic name, None if there is none. It decides between two
        directories of one partition, which a power loss may leave if a topic is deleted and created
        again elsewhere. The other one becomes a stray.
    Raises LogDirError if no directory is left, IdentityError for two logs of one topic id.
    """
    since = None if producers_silent_ms is None else logs.now_ms() - producers_silent_ms
    async with AsyncExitStack() as stack:
        with_workers = await _keep_workers(logs, stack)
        load = _Load(
            logs,
            config_of,
            delete_delay_ms,
            topic_id_of,
            since,
            at_once,
            worker_bytes if with_workers else None,
        )
        nursery = await stack.enter_async_context(trio.open_nursery())
        for directory in logs.online:
            nursery.start_soon(load.directory, directory, name=f"log-loading {directory.path}")
    logs.check_online()


async def _keep_workers(logs: LogManager, stack: AsyncExitStack) -> bool:
    """Keep worker processes between two segments if one may be checked in a process."""
    if all(directory.clean for directory in logs.online):
        return False
    try:
        await stack.enter_async_context(logs.world.kept_workers())
    except ImportError:
        return False
    return True


@frozen
class _Load:
    """One load of all directories."""

    logs: LogManager
    config_of: Callable[[TopicPartition], LogConfig]
    delete_delay_ms: int
    topic_id_of: Callable[[str], TopicId | None]
    silent_since: int | None
    at_once: int
    worker_bytes: int | None

    async def directory(self, directory: LogDirectory) -> None:
        """Load all logs of a directory. An error takes it offline."""
        try:
            names = await names_in(directory.root)
        except OSError as error:
            directory.fail(error)
            return
        elapsed = self.logs.world.clock.elapsed
        began = elapsed()
        progress = DirectoryProgress(directory.path, sum(map(_is_log, names)))
        with self.logs.loading(progress):
            async with trio.open_nursery() as outer:
                outer.start_soon(progress.report, name=f"log-loading-progress {directory.path}")
                await self._load_all(directory, names, progress)
                outer.cancel_scope.cancel()
            if not directory.clean:
                await directory.checkpoint()
                await self._write_epochs(directory)
        if progress.logs and directory.offline is None:
            progress.log_end(elapsed, began)

    async def _load_all(
        self, directory: LogDirectory, names: Sequence[str], progress: DirectoryProgress
    ) -> None:
        """Load the logs of a directory, some at a time."""
        left = iter(names)
        async with trio.open_nursery() as nursery:
            for number in range(min(self.at_once, len(names))):
                nursery.start_soon(
                    self._load_some,
                    directory,
                    left,
                    progress,
                    nursery.cancel_scope,
                    name=f"log-recovery-{directory.path}-{number}",
                )

    async def _write_epochs(self, directory: LogDirectory) -> None:
        """Make rebuilt leader epochs durable, then write recovery points.

        After the first checkpoint: until then the checkpoints may describe a deleted log. A log
            without a file of epochs was never synced.
        """
        rebuilt = [log for log in directory.logs.values() if log.epochs.dirty]
        left = iter(rebuilt)
        async with trio.open_nursery() as nursery:
            for number in range(min(self.at_once, len(rebuilt))):
                nursery.start_soon(_sync_some, left, name=f"log-epochs-{directory.path}-{number}")
        if rebuilt:
            await directory.checkpoint(RECOVERY_POINTS)

    async def _load_some(
        self,
        directory: LogDirectory,
        names: Iterator[str],
        progress: DirectoryProgress,
        all_of_it: trio.CancelScope,
    ) -> None:
        """Load logs that no other task has taken. An error ends the load of the directory."""
        await trio.lowlevel.checkpoint()
        try:
            for name in names:
                await self._load(directory, name, progress)
        except (LogDirError, OSError) as error:
            directory.fail(error)
            all_of_it.cancel()

    async def _load(self, directory: LogDirectory, name: str, progress: DirectoryProgress) -> None:
        parsed = parse_directory(name)
        if parsed is None:
            if name not in OWN_FILES:
                _ignore(directory, name, "no file of a broker")
            return
        partition, mark = parsed
        if partition.topic == METADATA_TOPIC:
            return
        root = directory.root
        try:
            inside = await when_free_now(lambda: root.directory(name).names())
        except NotADirectoryError:
            reason: str | None = "a plain file, not a partition's directory"
        else:
            reason = why_foreign(name, parsed, inside)
        if reason is not None:
            _ignore(directory, name, reason)
            return
        if mark == DELETE:
            self.logs.removal.add(directory, name, self.delete_delay_ms)
        elif mark == STRAY:
            self.logs.found_stray(f"{directory.path}/{name}")
        elif not mark:
            loading = progress.begin(name)
            try:
                log = await self._open(directory, name, partition, loading)
            finally:
                progress.end(loading)
            if directory.offline is None:
                self._take(directory, name, log)
            else:
                log.abandon()

    async def _open(
        self, directory: LogDirectory, name: str, partition: TopicPartition, loading: LogProgress
    ) -> Log:
        folder = directory.root.directory(name)
        known, config = directory.known(partition), self.config_of(partition)
        known.silent_since = self.silent_since
        known.progress, known.worker_bytes = loading, self.worker_bytes
        log = await when_free(
            partial(
                open_log,
                self.logs.world,
                folder,
                partition,
                config,
                known=known,
                latency=directory.latency,
                files=self.logs.files,
            )
        )
        try:
            content = await read_file(folder, PARTITION_METADATA)
        except BaseException:
            log.abandon()
            raise
        try:
            log.topic_id = decode(content) if content is not None else None
        except ValueError as error:
            # A power loss may leave the name of a new file without its content.
            _logger.warning("partition.metadata not read", path=folder.path, reason=str(error))
        return log

    def _take(self, directory: LogDirectory, name: str, log: Log) -> None:
        """Serve the log, unless another one of the same partition has the better claim."""
        partition = log.partition
        other = self.logs.get(partition)
        if other is None:
            self.logs.take(directory, log)
            return
        wanted = self.topic_id_of(partition.topic)
        if _rank(log, wanted) > _rank(other, wanted):
            self.logs.make_stray(partition)
            self.logs.take(directory, log)
            return
        log.abandon()
        if log.topic_id is not None and log.topic_id == other.topic_id:
            here, there = log.directory.path, other.directory.path
            raise IdentityError(f"{partition} is in {here} and in {there}")
        marked = self.logs.marked(partition, STRAY)
        directory.root.rename(name, marked)
        self.logs.found_stray(f"{directory.path}/{marked}")


def _is_log(name: str) -> bool:
    parsed = parse_directory(name)
    return parsed is not None and not parsed[1] and parsed[0].topic != METADATA_TOPIC


async def _sync_some(logs: Iterator[Log]) -> None:
    """Sync logs that no other task has taken, one after the other."""
    await trio.lowlevel.checkpoint()
    for log in logs:
        await sync_if_open(log)


def _ignore(directory: LogDirectory, name: str, reason: str) -> None:
    _logger.warning("foreign file ignored", path=f"{directory.path}/{name}", reason=reason)


def _rank(log: Log, wanted: TopicId | None) -> int:
    """Rank a log by how likely it is that of the topic id. Without an id it was not synced."""
    if log.topic_id is None:
        return 1
    return 2 if log.topic_id == wanted else 0
