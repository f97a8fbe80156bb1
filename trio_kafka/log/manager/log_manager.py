"""All logs of a broker in all of its log directories: created, deleted, closed.

`loading` adds the logs when the broker starts; `maintenance` is the periodic work. `run` performs
pending syncs. A directory that fails goes offline with its logs; the others continue.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NoReturn

import trio

from trio_kafka.errors import InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync_queue import SyncNames, SyncQueue
from trio_kafka.log.files.names import DELETE, STRAY, future_name, marked_directory
from trio_kafka.log.files.open_files import SMALLEST, OpenFiles
from trio_kafka.log.files.partition_metadata import encode
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.identity import check_identity, format_directory
from trio_kafka.log.manager.log_table import LogTable
from trio_kafka.log.manager.meta_properties import MetaProperties
from trio_kafka.log.manager.removal import Removal
from trio_kafka.log.recovery.partition import create_log
from trio_kafka.log.recovery.progress import DirectoryProgress
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)


class LogManager:
    """Logs of a broker. on_offline: called with a directory that has just gone offline.

    open_files: largest number of open files of sealed segments, see `OpenFiles`.
    threads: number of threads for each directory.
    yield_point: called between the pieces of clients' large appends.
    offline_paths: directories that could not be opened.
    removal: directories to be removed. node: in the tree, for parts that belong to the logs.
    cordoned: absolute paths of directories that are given no new replicas.
    strays: directories of partitions that do not belong to this broker. Only an operator removes
        them.
    """

    def __init__(
        self,
        world: World,
        paths: Sequence[str],
        node: Node,
        *,
        on_offline: Callable[[LogDirectory], None] = lambda _: None,
        open_files: int = SMALLEST,
        threads: int = 4,
        yield_point: YieldPoint | None = None,
    ) -> None:
        self.world = world
        self.threads = threads
        self.yield_point = yield_point or YieldPoint()
        self.files = OpenFiles(open_files, world.descriptors)
        self.directories: list[LogDirectory] = []
        self.offline_paths: dict[str, LogDirError] = {}
        self.removal = Removal(world)
        self.strays: list[str] = []
        self._paths = paths
        self._on_offline = on_offline
        self._watchers: list[Callable[[Log], None]] = []
        self._syncing = SyncQueue()
        self.node = node.add("log-manager", "part", self.figures)
        self.node.add("open-files", "file", self.files.figures)
        self._table = LogTable(self.node)
        self.cordoned: frozenset[str] = frozenset()
        # Directories that were named for replicas before they exist (KIP-113).
        self.preferred: dict[TopicPartition, str] = {}

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "directories": len(self.directories),
            "offline": sum(1 for directory in self.directories if directory.offline)
            + len(self.offline_paths),
            "threads": self.threads,
            "logs": self._table.count(),
            "futures": self._table.count(is_future=True),
            "cordoned": len(self.cordoned),
            "deleted": len(self.removal),
            "strays": len(self.strays),
        }

    # Directories

    async def open(self) -> None:
        """Lock the directories, read their identities and checkpoints. Nothing is loaded yet.

        Raises LogDirError if none can be opened.
        """
        for path in self._paths:
            await self._open(path)
        if not self.directories:
            raise next(iter(self.offline_paths.values()))

    async def identify(self, identity: MetaProperties) -> None:
        """Check the identity of the directories. Raises IdentityError.

        identity: of this node; directory ids are the directories' own. An empty directory is
            formatted if another one is formatted already.
        """
        check_identity(self.directories, identity)
        for directory in self.online:
            if directory.properties is None:
                await format_directory(self.world, directory, identity)

    def resize(self, threads: int) -> None:
        """Set the number of threads for each directory."""
        self.threads = threads
        for directory in self.directories:
            directory.root.resize(threads)

    async def _open(self, path: str) -> None:
        try:
            root = self.world.directory(path, create=True, threads=self.threads)
            directory = LogDirectory(
                self.world, root, lambda: self._on_offline(directory), yield_point=self.yield_point
            )
            await self._lock(directory)
        except LogDirError as error:
            self.offline_paths[path] = error
            _logger.warning("log directory offline", path=path, reason=str(error))
        except OSError as error:
            failure = self.offline_paths[path] = LogDirError(path, str(error))
            failure.__cause__ = error
            _logger.warning("log directory offline", path=path, reason=str(error))
        else:
            self.directories.append(directory)

    async def _lock(self, directory: LogDirectory) -> None:
        """Open a directory. Unlock it if that fails."""
        try:
            await directory.open()
        except BaseException:
            directory.abandon()
            raise

    @property
    def online(self) -> list[LogDirectory]:
        """Directories that are not offline."""
        return [directory for directory in self.directories if directory.offline is None]

    def by_path(self) -> dict[str, LogDirectory | None]:
        """Return all configured directories by absolute path; None: it could not be opened."""
        whole = self.world.absolute_path
        opened = {whole(directory.path): directory for directory in self.directories}
        return {whole(path): opened.get(whole(path)) for path in self._paths}

    def cordon(self, paths: Sequence[str]) -> None:
        """Give these directories no new replicas from now on; "*" stands for all."""
        self.cordoned = frozenset(
            self.by_path() if "*" in paths else map(self.world.absolute_path, paths)
        )

    def is_cordoned(self, directory: LogDirectory) -> bool:
        """Return whether a directory is given no new replicas."""
        return self.world.absolute_path(directory.path) in self.cordoned

    def check_online(self) -> None:
        """Raise the LogDirError of the first failed directory if all are offline."""
        if not self.online:
            raise next(iter(self.offline_paths.values()), None) or self._all_offline()

    def _all_offline(self) -> LogDirError:
        for directory in self.directories:
            if directory.offline:
                return directory.offline
        return LogDirError(", ".join(self._paths), "no log directory is online")

    @contextmanager
    def loading(self, progress: DirectoryProgress) -> Iterator[None]:
        """Show the load of a directory in the tree while the block runs."""
        name = f"loading {progress.path}"
        node = self.node.add(name, "part", progress.figures, transient=progress.nodes)
        try:
            yield
        finally:
            node.remove()

    def pending_syncs(self, directory: LogDirectory) -> int:
        """Return the number of syncs of a directory's logs that have not begun."""
        return self._syncing.pending(lambda log: log.latency is directory.latency)

    # Lookup

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the log of a partition, even if its directory is offline (`log.failed`)."""
        row = self._table.get(partition)
        return None if row is None else row.log

    def future(self, partition: TopicPartition) -> Log | None:
        """Return the future log of a partition, even if its directory is offline."""
        row = self._table.get(partition, is_future=True)
        return None if row is None else row.log

    @property
    def logs(self) -> tuple[Log, ...]:
        """All logs."""
        return self._table.logs()

    @property
    def futures(self) -> tuple[Log, ...]:
        """All future logs: copies of logs that move to another directory."""
        return self._table.logs(is_future=True)

    def directory_of(
        self, partition: TopicPartition, *, is_future: bool = False
    ) -> LogDirectory | None:
        """Return the directory of a partition's log, or of its future log."""
        row = self._table.get(partition, is_future=is_future)
        return None if row is None else row.directory

    def now_ms(self) -> int:
        return int(self.world.clock.wall() * 1000)

    # Creation and deletion

    def create(
        self,
        partition: TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
        *,
        directory: LogDirectory | None = None,
    ) -> Log:
        """Return the log of a partition; create it in the directory with the fewest logs if
        necessary.

        A new log is not durable before its first `sync`. LogDirError.
        """
        if log := self.get(partition):
            return log
        online = self.online
        if not online:
            raise self._all_offline()
        directory = directory or self._least_loaded(online)
        log = self._create(directory, str(partition), partition, topic_id, config)
        self.take(directory, log)
        return log

    def create_future(
        self,
        directory: LogDirectory,
        partition: TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
        *,
        start_offset: int,
    ) -> Log:
        """Create an empty future log; there must be none. It is not durable before its first sync.

        Raises LogDirError; KafkaError as `future_name`.
        """
        name = future_name(partition, self.world.random_bytes(16))
        log = self._create(directory, name, partition, topic_id, config, start_offset=start_offset)
        self.take_future(directory, log)
        return log

    def _least_loaded(self, online: list[LogDirectory]) -> LogDirectory:
        """Return the directory with the fewest logs; a cordoned one if all are cordoned.

        Source: KIP-1066; the controller places no replica on a broker whose directories all are.
        """
        open_to_new = [directory for directory in online if not self.is_cordoned(directory)]
        candidates = open_to_new or online
        return min(candidates, key=lambda directory: len(directory.logs) + len(directory.futures))

    def _create(
        self,
        directory: LogDirectory,
        name: str,
        partition: TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
        *,
        start_offset: int = 0,
    ) -> Log:
        """Create a log in the directory `name`.

        Raises LogDirError, which takes the directory offline unless there is no free descriptor.
        """
        try:
            log = create_log(
                self.world,
                directory.root.directory(name, create=True),
                partition,
                config=config,
                parent=directory.root,
                start_offset=start_offset,
                latency=directory.latency,
                files=self.files,
            )
        except (KafkaError, OSError) as error:
            if isinstance(error, OSError):
                directory.fail(error)
            raise LogDirError(directory.path, str(error)) from error
        log.unsynced.owes(encode(topic_id))
        log.topic_id = topic_id
        return log

    def take(self, directory: LogDirectory, log: Log) -> None:
        """Serve a log of `directory` that was created or loaded."""
        self._table.add(directory, log)
        log.wants_sync = self._syncing.ask
        log.on_change = self._note_change
        self._note_change(log)

    def take_future(self, directory: LogDirectory, log: Log) -> None:
        """Keep a future log of `directory` that was created or loaded."""
        self._table.add(directory, log, is_future=True)
        log.wants_sync = self._syncing.ask

    @contextmanager
    def watched(self, on_change: Callable[[Log], None]) -> Iterator[None]:
        """Call `on_change(log)` for every `Log.on_change` in the block, and for every new log.

        on_change: never waits or raises; the change has been made.
        """
        self._watchers.append(on_change)
        try:
            yield
        finally:
            self._watchers.remove(on_change)

    def _note_change(self, log: Log) -> None:
        for on_change in self._watchers:
            on_change(log)

    def delete(self, partition: TopicPartition) -> None:
        """Stop serving a log. Its files are removed after file.delete.delay.ms; leases stay valid.

        The name is free at once. LogDirError.
        """
        self._retire(partition, DELETE)

    def make_stray(self, partition: TopicPartition) -> None:
        """Stop serving a log whose partition is not this broker's. Its files stay.

        Source: Kafka moves strays aside and never deletes them, as the metadata may be wrong.
        """
        self._retire(partition, STRAY)

    def found_stray(self, path: str) -> None:
        """Note and log a directory that was moved aside, now or earlier."""
        self.strays.append(path)
        _logger.warning("stray partition", path=path)

    def drop_future(self, partition: TopicPartition) -> None:
        """Stop a move: the future log is deleted, as `delete` does."""
        self._retire(partition, DELETE, is_future=True)

    def make_future_stray(self, partition: TopicPartition) -> None:
        """Set a future log aside whose partition is not this broker's. Its files stay."""
        self._retire(partition, STRAY, is_future=True)

    def promote(self, partition: TopicPartition) -> None:
        """Let the future log take the place of the log, which is deleted. LogDirError.

        All that is durable in the log must be durable in the future log. Its files are removed only
        when the new name of the future log is durable. After a crash in between, the directory that
        the metadata name for the replica decides (`loading`).
        """
        row = self._table.pop(partition, is_future=True)
        if row is None:
            raise InvariantError(f"{partition} has no future log")
        directory, future = row.directory, row.log
        try:
            directory.root.move(future.directory, str(partition))
        except OSError as error:
            directory.fail(error)
            future.abandon()
            raise LogDirError(directory.path, str(error)) from error
        before = self._table.pop(partition)
        if before is not None:
            names = partial(self._end_move, directory, before.directory, before.log)
            self._set_aside(before.directory, before.log, DELETE, names=names)
        self.take(directory, future)

    async def _end_move(self, target: LogDirectory, source: LogDirectory, log: Log) -> None:
        """Make the names after a move durable, then have the old files removed."""
        await target.sync_names()
        await source.sync_names()
        if target.offline is None:
            name = log.directory.path.rpartition("/")[2]
            self.removal.add(source, name, log.config.file_delete_delay_ms)

    def _retire(self, partition: TopicPartition, mark: str, *, is_future: bool = False) -> None:
        row = self._table.pop(partition, is_future=is_future)
        if row is not None:
            self._set_aside(row.directory, row.log, mark, names=row.directory.sync_names)

    def _set_aside(self, directory: LogDirectory, log: Log, mark: str, *, names: SyncNames) -> None:
        """Close a log and mark the name of its directory.

        names: makes the name durable; for a log that was moved, also that of the other one.
        """
        self._syncing.forget(log)
        log.abandon()
        if directory.offline:
            return
        name = self.marked(log.partition, mark)
        try:
            directory.root.move(log.directory, name)
        except OSError as error:
            directory.fail(error)
            return
        # Without a sync a power loss would make a deleted log a stray, which stays for ever.
        self._syncing.ask(names)
        if mark == STRAY:
            self.found_stray(f"{directory.path}/{name}")
        elif names == directory.sync_names:
            self.removal.add(directory, name, log.config.file_delete_delay_ms)

    def marked(self, partition: TopicPartition, mark: str) -> str:
        """Return a new name for the directory of a partition that is no longer served."""
        return marked_directory(partition, self.world.random_bytes(16), mark)

    # Tasks and end

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Perform pending syncs, a few at a time, until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self.files.run, name="open-files")
            await self._syncing.run(task_status=task_status)

    async def close(self, broker_epoch: int = -1) -> None:
        """Sync all, write checkpoints and markers of a clean stop, unlock, in this order."""
        await trio.lowlevel.checkpoint()
        self.files.may_use_reserve = True  # a log that is not closed costs a recovery
        for directory in self.directories:
            await directory.close(broker_epoch)
        self.files.close_all()
        self._table.clear()
        self.node.remove()

    def abandon(self) -> None:
        """Close files and locks without checkpoints: the next start recovers. Idempotent."""
        for directory in self.directories:
            directory.abandon()
        self.files.close_all()
