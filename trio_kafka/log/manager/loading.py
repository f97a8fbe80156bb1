"""Load of every partition of every directory when a broker starts.

A directory that fails goes offline; the others continue. Deleted directories are removed when their
delay is over. Strays stay, and each start logs their paths. A crash may have come between the steps
of a move between directories: the directory that the metadata name for the replica decides then.
"""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync_queue import sync_if_open
from trio_kafka.log.files.checkpoints import RECOVERY_POINTS, read_file
from trio_kafka.log.files.descriptor_retry import names_in, when_free, when_free_now
from trio_kafka.log.files.names import DELETE, FUTURE, STRAY, parse_directory
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
from trio_kafka.world.protocols import Directory

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
    directory_of: Callable[[TopicPartition], str | None] = lambda _: None,
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
    directory_of: returns the id of the directory that the metadata name for a replica.
    Raises LogDirError if no directory is left, IdentityError for two logs of one topic id.
    """
    since = None if producers_silent_ms is None else logs.now_ms() - producers_silent_ms
    async with AsyncExitStack() as stack:
        with_workers = await _keep_workers(logs, stack)
        load = _Load(
            logs=logs,
            config_of=config_of,
            delete_delay_ms=delete_delay_ms,
            topic_id_of=topic_id_of,
            directory_of=directory_of,
            silent_since=since,
            at_once=at_once,
            worker_bytes=worker_bytes if with_workers else None,
        )
        nursery = await stack.enter_async_context(trio.open_nursery())
        for directory in logs.online:
            nursery.start_soon(load.directory, directory, name=f"log-loading {directory.path}")
    logs.check_online()
    for partition in [future.partition for future in logs.futures]:
        topic_id = topic_id_of(partition.topic)
        _settle_move(logs, partition, topic_id, directory_id=directory_of(partition))


async def _keep_workers(logs: LogManager, stack: AsyncExitStack) -> bool:
    """Keep worker processes between two segments if one may be checked in a process."""
    if all(directory.clean for directory in logs.online):
        return False
    try:
        await stack.enter_async_context(logs.world.kept_workers())
    except ImportError:
        return False
    return True


@frozen(kw_only=True)
class _Load:
    """One load of all directories."""

    logs: LogManager
    config_of: Callable[[TopicPartition], LogConfig]
    delete_delay_ms: int
    topic_id_of: Callable[[str], TopicId | None]
    directory_of: Callable[[TopicPartition], str | None]
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
        remaining = iter(names)
        async with trio.open_nursery() as nursery:
            for number in range(min(self.at_once, len(names))):
                nursery.start_soon(
                    self._load_some,
                    directory,
                    remaining,
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
        remaining = iter(rebuilt)
        async with trio.open_nursery() as nursery:
            for number in range(min(self.at_once, len(rebuilt))):
                nursery.start_soon(
                    _sync_some, remaining, name=f"log-epochs-{directory.path}-{number}"
                )
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
        inside = await _names_inside(root, name, parsed)
        if isinstance(inside, _IgnoreReason):
            _ignore(directory, name, inside.reason)
            return
        if mark == DELETE:
            self.logs.removal.add(directory, name, self.delete_delay_ms)
        elif mark == STRAY:
            self.logs.found_stray(f"{directory.path}/{name}")
        elif mark == FUTURE and root.exists(str(partition)):
            # Its log is here: a move that was cancelled, whose new name was not durable.
            deleted = self.logs.marked(partition, DELETE)
            root.rename(name, deleted)
            self.logs.removal.add(directory, deleted, self.delete_delay_ms)
        else:
            loading = progress.begin(name)
            try:
                log = await self._open(directory, name, partition, loading=loading, names=inside)
            finally:
                progress.end(loading)
            self._take_opened(directory, log, future=mark == FUTURE)

    def _take_opened(self, directory: LogDirectory, log: Log, *, future: bool) -> None:
        if directory.offline is not None:
            log.abandon()
        elif future:
            self._take_future(directory, log)
        else:
            self._take(directory, log)

    async def _open(
        self,
        directory: LogDirectory,
        name: str,
        partition: TopicPartition,
        *,
        loading: LogProgress,
        names: Sequence[str],
    ) -> Log:
        folder = directory.root.directory(name)
        recovery, config = directory.recovery_of(partition), self.config_of(partition)
        recovery.silent_since = self.silent_since
        recovery.progress, recovery.worker_bytes = loading, self.worker_bytes
        recovery.names = names  # a second attempt lists them itself
        log = await when_free(
            lambda: open_log(
                self.logs.world,
                folder,
                partition,
                config=config,
                recovery=recovery,
                latency=directory.latency,
                files=self.logs.files,
            )
        )
        try:
            content = await read_file(folder, PARTITION_METADATA)
            log.topic_id = decode(content) if content is not None else None
        except ValueError as error:
            # A power loss may leave the name of a new file without its content.
            _logger.warning("partition.metadata not read", path=folder.path, reason=str(error))
        except BaseException:
            log.abandon()
            raise
        return log

    def _take_future(self, directory: LogDirectory, log: Log) -> None:
        """Keep a future log. Of two, that in the directory named by the metadata, or the first."""
        partition = log.partition
        if self.logs.future(partition) is not None:
            if not directory.has_id(self.directory_of(partition)):
                self._set_aside(directory, log)
                return
            self.logs.drop_future(partition)
        self.logs.take_future(directory, log)

    def _set_aside(self, directory: LogDirectory, log: Log) -> None:
        """Make a log a stray that is not served."""
        log.abandon()
        marked = self.logs.marked(log.partition, STRAY)
        directory.root.move(log.directory, marked)
        self.logs.found_stray(f"{directory.path}/{marked}")

    def _take(self, directory: LogDirectory, log: Log) -> None:
        """Serve a loaded log. Of two logs of a partition, serve one and set the other aside."""
        partition = log.partition
        other = self.logs.get(partition)
        if other is None:
            self.logs.take(directory, log)
            return
        topic_id = self.topic_id_of(partition.topic)
        better = _rank(log, topic_id) > _rank(other, topic_id)
        if log.topic_id == other.topic_id:
            # Without topic ids, one of them may be of a deleted topic of the same name.
            better = directory.has_id(self.directory_of(partition))
            other_directory = self.logs.directory_of(partition)
            is_named = better or (
                other_directory and other_directory.has_id(self.directory_of(partition))
            )
            if log.topic_id is not None and not is_named:
                log.abandon()
                paths = f"{log.directory.path} and in {other.directory.path}"
                raise IdentityError(f"{partition} is in {paths}")
        if better:
            self.logs.make_stray(partition)
            self.logs.take(directory, log)
        else:
            self._set_aside(directory, log)


def _settle_move(
    logs: LogManager,
    partition: TopicPartition,
    topic_id: TopicId | None,
    *,
    directory_id: str | None,
) -> None:
    """Promote a future log if a crash came between the steps of its promotion.

    Either the metadata name its directory already, or the log is gone. A future log that does not
    have all of the log stays one, and the move goes on. The log of a future log may be in an
    offline directory. A future log that was never synced may be that of another topic.
    topic_id: of the current topic of this name; None: there is none.
    directory_id: of the directory that the metadata name for the replica.
    """
    log, future = logs.get(partition), logs.future(partition)
    directory = logs.directory_of(partition, is_future=True)
    if future is None or directory is None or directory.offline or topic_id is None:
        return
    if future.topic_id != topic_id:
        logs.drop_future(partition)
        return
    if log is not None and log.topic_id not in (None, topic_id):
        log = None  # of an earlier topic, soon a stray
    lost = log is None and len(logs.online) == len(logs.by_path())
    has_all = log is not None and (
        future.start_offset <= log.start_offset and log.end_offset <= future.end_offset
    )
    if lost or (has_all and directory.has_id(directory_id)):
        if lost and logs.get(partition) is not None:
            logs.make_stray(partition)
        logs.promote(partition)
        _logger.info("move completed", partition=str(partition), path=directory.path)


@frozen
class _IgnoreReason:
    """Reason why a name is not that of a partition's directory."""

    reason: str


async def _names_inside(
    root: Directory, name: str, parsed: tuple[TopicPartition, str]
) -> list[str] | _IgnoreReason:
    """Return the names in the directory of a partition, or why it is none. OSError."""
    try:
        inside = await when_free_now(lambda: root.directory(name).names())
    except NotADirectoryError:
        return _IgnoreReason("a plain file, not a partition's directory")
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ELOOP}:
            raise
        return _IgnoreReason("a symbolic link to a missing directory")
    reason = why_foreign(name, parsed, inside)
    return inside if reason is None else _IgnoreReason(reason)


def _is_log(name: str) -> bool:
    parsed = parse_directory(name)
    if parsed is None:
        return False
    partition, mark = parsed
    return mark in ("", FUTURE) and partition.topic != METADATA_TOPIC


async def _sync_some(logs: Iterator[Log]) -> None:
    """Sync logs that no other task has taken, one after the other."""
    await trio.lowlevel.checkpoint()
    for log in logs:
        await sync_if_open(log)


def _ignore(directory: LogDirectory, name: str, reason: str) -> None:
    _logger.warning("foreign file ignored", path=f"{directory.path}/{name}", reason=reason)


def _rank(log: Log, topic_id: TopicId | None) -> int:
    """Rank a log by how likely it is that of the topic id. Without an id it was not synced."""
    if log.topic_id is None:
        return 1
    return 2 if log.topic_id == topic_id else 0
