"""All logs of a broker in all of its log directories: start, creation, deletion, upkeep, stop.

Upkeep is methods for the owner's scheduler; `run` is all tasks, which sync what logs ask for. A
directory that fails goes offline with its logs, the others go on.
"""

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.checkpoint import read_file
from trio_kafka.log.config import LogConfig
from trio_kafka.log.directory import LogDirectory
from trio_kafka.log.log import Log
from trio_kafka.log.meta_properties import MetaProperties, write_meta_properties
from trio_kafka.log.names import DELETE, STRAY, marked_directory, parse_directory
from trio_kafka.log.open_files import SMALLEST, OpenFiles
from trio_kafka.log.partition_metadata import (
    NAME as PARTITION_METADATA,
)
from trio_kafka.log.partition_metadata import (
    decode,
    encode,
    format_id,
)
from trio_kafka.log.recovery import create_log, open_log
from trio_kafka.log.retention import retain
from trio_kafka.log.sync import sync
from trio_kafka.model import METADATA_TOPIC, TopicId, TopicPartition
from trio_kafka.world.protocols import World

SYNCS: Final = 4  # at once: as many as a directory has threads
_logger: Final = get_logger(__name__)


class IdentityError(Exception):
    """A log directory belongs to another node or cluster, or was never formatted: no start."""


class LogManager:
    """on_offline: called with a directory that has just gone offline.

    open_files: how many files of sealed segments are open at most, see `OpenFiles`.
    """

    def __init__(
        self,
        world: World,
        paths: Sequence[str],
        node: Node,
        on_offline: "Callable[[LogDirectory], None] | None" = None,
        *,
        open_files: int = SMALLEST,
    ) -> None:
        self._world = world
        self._paths = paths
        self._on_offline = on_offline or _nobody
        self.on_deleted: Callable[[], None] = _nothing  # files wait for `remove_deleted`
        self.directories: list[LogDirectory] = []
        self.offline_paths: dict[str, LogDirError] = {}
        self._logs: dict[TopicPartition, Log] = {}
        self._deleted: list[tuple[int, LogDirectory, str]] = []
        self._wanted: dict[Log, None] = {}
        self._topic_id_of: Callable[[str], TopicId | None] = _no_topic
        self._syncing: set[Log] = set()
        self._bell = trio.Event()
        self._files = OpenFiles(open_files)
        self._node = node.add("log-manager", "part", self.figures)
        self._node.add("open-files", "file", self._files.figures)
        self._nodes: dict[TopicPartition, Node] = {}

    def figures(self) -> Figures:
        """For the tree."""
        return {
            "directories": len(self.directories),
            "offline": sum(1 for one in self.directories if one.offline) + len(self.offline_paths),
            "logs": len(self._logs),
            "deleted": len(self._deleted),
        }

    # Start

    async def start(
        self,
        identity: MetaProperties,
        config_of: Callable[[TopicPartition], LogConfig],
        *,
        delete_delay_ms: int = 60_000,
    ) -> None:
        """Lock the directories, check whose they are, load every partition.

        identity: of this node; directory ids are the directories' own. An empty directory beside
        formatted ones is formatted. Raises IdentityError; LogDirError where no directory is left.
        """
        await self.open()
        await self.identify(identity)
        await self.load(config_of, delete_delay_ms=delete_delay_ms)

    async def open(self) -> None:
        """Lock the directories and read what they say of themselves; nothing is loaded yet."""
        for path in self._paths:
            await self._open(path)
        if not self.directories:
            raise next(iter(self.offline_paths.values()))

    async def identify(self, identity: MetaProperties) -> None:
        """Check whose the directories are. Raises IdentityError."""
        self._check_identity(identity)
        for directory in self._online():
            if directory.properties is None:
                await self._format(directory, identity)

    async def load(
        self,
        config_of: Callable[[TopicPartition], LogConfig],
        *,
        delete_delay_ms: int = 60_000,
        topic_id_of: "Callable[[str], TopicId | None] | None" = None,
    ) -> None:
        """Load every partition of every directory.

        topic_id_of: the id that a name has now, None where it has none. It decides between two
            directories that have a partition of one name, which is what a power loss may leave of
            a topic that was deleted and made again elsewhere; the other one becomes a stray.
        Raises LogDirError where no directory is left, IdentityError for two of one topic.
        """
        self._topic_id_of = topic_id_of or _no_topic
        async with trio.open_nursery() as nursery:
            for directory in self._online():
                name = f"log-loading {directory.path}"
                nursery.start_soon(self._load, directory, config_of, delete_delay_ms, name=name)
        if not self._online():
            raise next(iter(self.offline_paths.values()), None) or self._all_offline()

    async def _open(self, path: str) -> None:
        try:
            root = self._world.directory(path, create=True)
            directory = LogDirectory(self._world, root, lambda: self._went_offline(directory))
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
        """What is not opened whole is unlocked: nobody would close it."""
        try:
            await directory.open()
        except BaseException:
            directory.abandon()
            raise

    def _check_identity(self, identity: MetaProperties) -> None:
        formatted = [one for one in self.directories if one.properties]
        if self.directories and not formatted:
            raise IdentityError(f"no log directory is formatted: {', '.join(self._paths)}")
        seen: dict[str, str] = {}
        for directory in formatted:
            properties = directory.properties
            if properties is None:
                continue
            wrong = (properties.node_id, properties.cluster_id)
            want = (identity.node_id, identity.cluster_id)
            if wrong != want:
                raise IdentityError(
                    f"{directory.path} is of node {wrong[0]} of cluster {wrong[1]}, "
                    f"this is node {want[0]} of cluster {want[1]}"
                )
            unique = properties.directory_id or directory.path
            if unique in seen:
                raise IdentityError(f"{directory.path} and {seen[unique]} have one directory id")
            seen[unique] = directory.path

    async def _format(self, directory: LogDirectory, identity: MetaProperties) -> None:
        properties = MetaProperties(
            node_id=identity.node_id,
            cluster_id=identity.cluster_id,
            directory_id=new_directory_id(self._world),
        )
        try:
            await write_meta_properties(directory.root, properties)
        except OSError as error:
            directory.fail(LogDirError(directory.path, str(error)))
        directory.properties = properties

    async def _load(
        self,
        directory: LogDirectory,
        config_of: Callable[[TopicPartition], LogConfig],
        delete_delay_ms: int,
    ) -> None:
        try:
            for name in directory.root.names():
                parsed = parse_directory(name)
                if parsed is None or parsed[0].topic == METADATA_TOPIC:
                    continue
                partition, mark = parsed
                if mark == DELETE:
                    self._deleted.append((self._now_ms() + delete_delay_ms, directory, name))
                elif not mark:
                    await self._load_log(directory, name, partition, config_of(partition))
            if not directory.clean:
                await directory.checkpoint()
        except LogDirError as error:
            directory.fail(error)
        except OSError as error:
            directory.fail(LogDirError(directory.path, str(error)))

    async def _load_log(
        self, directory: LogDirectory, name: str, partition: TopicPartition, config: LogConfig
    ) -> None:
        folder = directory.root.directory(name)
        log = await open_log(
            self._world,
            folder,
            partition,
            config,
            known=directory.known(partition),
            pace=directory.pace,
            files=self._files,
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
        other = self._logs.get(partition)
        if other is None:
            self._take(directory, log)
            return
        wanted = self._topic_id_of(partition.topic)
        if _rank(log, wanted) > _rank(other, wanted):
            self.make_stray(partition)
            self._take(directory, log)
        elif log.topic_id is not None and log.topic_id == other.topic_id:
            log.abandon()
            raise IdentityError(f"{partition} is in {folder.path} and in {other.directory.path}")
        else:
            log.abandon()
            _logger.warning("stray partition", path=folder.path)
            directory.root.rename(name, self._marked(partition, STRAY))

    def _take(self, directory: LogDirectory, log: Log) -> None:
        directory.add(log)
        log.wants_sync = self._ask_sync
        self._logs[log.partition] = log
        self._nodes[log.partition] = self._node.add(str(log.partition), "log", log.figures)

    # What is there

    def get(self, partition: TopicPartition) -> Log | None:
        """The log of a partition; also one whose directory is offline (`log.failed`)."""
        return self._logs.get(partition)

    @property
    def logs(self) -> tuple[Log, ...]:
        return tuple(self._logs.values())

    def directory_of(self, partition: TopicPartition) -> LogDirectory | None:
        """Where a partition's log lives."""
        for directory in self.directories:
            if partition in directory.logs:
                return directory
        return None

    # Creation and deletion

    def create(
        self,
        partition: TopicPartition,
        topic_id: TopicId,
        config: LogConfig,
        directory: LogDirectory | None = None,
    ) -> Log:
        """The log of a partition: the one that is there, else a new one in the emptiest directory.

        Nothing of it is durable before its first `sync`. LogDirError.
        """
        if log := self._logs.get(partition):
            return log
        online = self._online()
        if not online:
            raise self._all_offline()
        directory = directory or min(online, key=lambda one: len(one.logs))
        try:
            folder = directory.root.directory(str(partition), create=True)
            log = create_log(
                self._world,
                folder,
                partition,
                config,
                parent=directory.root,
                pace=directory.pace,
                files=self._files,
            )
            try:
                file = self._files.create(folder, PARTITION_METADATA)
                file.append([encode(topic_id)])
            except BaseException:
                log.abandon()
                raise
        except KafkaError as error:  # no descriptor is left: the directory stays online
            raise LogDirError(directory.path, str(error)) from error
        except OSError as error:
            directory.fail(LogDirError(directory.path, str(error)))
            raise LogDirError(directory.path, str(error)) from error
        log.unsynced.wrote(file)
        log.topic_id = topic_id
        self._take(directory, log)
        return log

    def delete(self, partition: TopicPartition) -> None:
        """Take a log out of service; its files go after file.delete.delay.ms. Leases live on.

        The name is free at once. LogDirError.
        """
        self._retire(partition, DELETE)

    def make_stray(self, partition: TopicPartition) -> None:
        """Take a log out of service whose partition is not this broker's; its files stay."""
        self._retire(partition, STRAY)

    def _retire(self, partition: TopicPartition, mark: str) -> None:
        directory, log = self.directory_of(partition), self._logs.pop(partition, None)
        if directory is None or log is None:
            return
        del directory.logs[partition]
        self._nodes.pop(partition).remove()
        self._wanted.pop(log, None)
        log.abandon()
        if directory.offline:
            return
        name = self._marked(partition, mark)
        try:
            directory.root.rename(str(partition), name)
        except OSError as error:
            directory.fail(LogDirError(directory.path, str(error)))
            return
        if mark == DELETE:
            due = self._now_ms() + log.config.file_delete_delay_ms
            self._deleted.append((due, directory, name))
            self.on_deleted()

    def _marked(self, partition: TopicPartition, mark: str) -> str:
        return marked_directory(partition, self._world.random_bytes(16), mark)

    async def remove_deleted(self) -> float | None:
        """Remove the files whose delay is over; seconds until the next ones are due, None: none."""
        await trio.lowlevel.checkpoint()
        now = self._now_ms()
        # One by one: while files go others are added, and another call may be at work.
        while due := next((entry for entry in self._deleted if entry[0] <= now), None):
            self._deleted.remove(due)
            _, directory, name = due
            if directory.offline:
                continue
            try:
                await directory.root.sync()  # the new name first: half a directory is no partition
                folder = directory.root.directory(name)
                for file in folder.names():
                    await folder.unlink(file)
                await directory.root.unlink(name)
            except OSError as error:
                directory.fail(LogDirError(directory.path, str(error)))
        return min(((at - now) / 1000 for at, _, _ in self._deleted), default=None)

    # Upkeep

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Sync the logs that ask for it, a few at a time, until cancelled.

        Somebody may wait for each of them (`flush.messages`): a large one holds up no other.
        """
        async with trio.open_nursery() as nursery:
            for number in range(SYNCS):
                nursery.start_soon(self._sync_wanted, name=f"log-sync-{number}")
            task_status.started()
            await trio.sleep_forever()

    async def _sync_wanted(self) -> NoReturn:
        while True:
            log = next((one for one in self._wanted if one not in self._syncing), None)
            if log is None:
                if self._bell.is_set():
                    self._bell = trio.Event()
                await self._bell.wait()
                continue
            del self._wanted[log]
            self._syncing.add(log)  # whoever syncs it looks again afterwards
            try:
                await self._sync(log)
            finally:
                self._syncing.remove(log)

    def _ask_sync(self, log: Log) -> None:
        self._wanted[log] = None
        self._bell.set()

    async def _sync(self, log: Log) -> None:
        if log.closed or log.failed:
            await trio.lowlevel.checkpoint()
            return
        try:
            await sync(log)
        except KafkaError:
            return  # deleted meanwhile: nobody waits for it
        except LogDirError as error:
            _logger.warning("sync failed", partition=str(log.partition), reason=str(error))

    async def sync_due(self) -> None:
        """Sync the logs whose flush.ms is over."""
        await trio.lowlevel.checkpoint()
        now = self._now_ms()
        for log in self.logs:
            dirty = log.recovery_point < log.end_offset
            if dirty and now - log.last_sync_ms >= log.config.flush_ms:
                await self._sync(log)

    async def checkpoint(self) -> None:
        """Write recovery points, start offsets and high watermarks of every directory."""
        await trio.lowlevel.checkpoint()
        for directory in self._online():
            await directory.checkpoint()

    async def forget_producers(self, silent_ms: int) -> None:
        """Forget the idempotent producers of every log that wrote nothing for so long.

        Source: producer.id.expiration.ms; the time of a producer is that of its last batch.
        """
        await trio.lowlevel.checkpoint()
        for log in self.logs:
            if len(log.producers):
                log.producers.expire(self._now_ms() - silent_ms)
                await trio.lowlevel.checkpoint()

    async def retain(self) -> int:
        """Remove old segments of every log; how many went."""
        await trio.lowlevel.checkpoint()
        gone = 0
        for directory in self._online():
            for log in list(directory.logs.values()):
                if log.closed or log.failed:
                    continue
                try:
                    gone += await retain(log, self._now_ms(), directory.write_start_offsets)
                except KafkaError:
                    continue  # deleted meanwhile
                except LogDirError:
                    break
                except OSError as error:
                    directory.fail(LogDirError(directory.path, str(error)))
                    break
        return gone

    async def close(self, broker_epoch: int = -1) -> None:
        """In order: sync all, checkpoints, markers of a clean stop, locks."""
        await trio.lowlevel.checkpoint()
        for directory in self.directories:
            await directory.close(broker_epoch)
        self._files.close_all()
        self._logs.clear()
        self._node.remove()

    def abandon(self) -> None:
        """Close files and give back locks, nothing else: the next start recovers. Idempotent."""
        for directory in self.directories:
            directory.abandon()
        self._files.close_all()

    def _online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.offline is None]

    def _went_offline(self, directory: LogDirectory) -> None:
        self._on_offline(directory)

    def _all_offline(self) -> LogDirError:
        for directory in self.directories:
            if directory.offline:
                return directory.offline
        return LogDirError(", ".join(self._paths), "no log directory is online")

    def _now_ms(self) -> int:
        return int(self._world.clock.wall() * 1000)


def new_directory_id(world: World) -> str:
    """An id for a log directory; the first hundred are reserved, and none begins with a dash."""
    while True:
        text = format_id(world.random_bytes(16))
        if not text.startswith("-"):
            return text


def _rank(log: Log, wanted: TopicId | None) -> int:
    """How likely it is the log of the topic with that id: an id that is missing was not synced."""
    if log.topic_id is None:
        return 1
    return 2 if log.topic_id == wanted else 0


def _no_topic(_: str) -> None:
    """No name is known."""


def _nobody(_: LogDirectory) -> None:
    """Nobody listens."""


def _nothing() -> None:
    """Nothing is to be done."""
