"""Future logs: copies of logs that move to another directory of the broker.

A future log is in a directory `<topic>-<partition>.<id>-future` and takes the place of its log when
it has caught up.
Source: KIP-113.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.names import FUTURE
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.partition_metadata import encode
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.recovery.partition import create_log
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.world.world import World

_LONGEST: Final = 255  # bytes of a file's name


def future_name(partition: TopicPartition, unique: bytes) -> str:
    """Return the name of a future log's directory. unique: 16 bytes.

    Raises KafkaError(INVALID_TOPIC_EXCEPTION) if it would be too long: it must not be cut, as a
    start reads the partition from it.
    """
    name = f"{partition}.{unique.hex()}{FUTURE}"
    if len(name) > _LONGEST:
        message = f"a name of {len(name)} bytes for the directory of {partition}: want {_LONGEST}"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
    return name


class FutureLogs:
    """Future logs of all directories, at most one for each partition."""

    def __init__(
        self, world: World, files: OpenFiles, wants_sync: Callable[[Log], None], *, node: Node
    ) -> None:
        self._world = world
        self._files = files
        self._wants_sync = wants_sync
        self._node = node
        self._logs: dict[TopicPartition, tuple[LogDirectory, Log]] = {}
        self._nodes: dict[TopicPartition, Node] = {}

    def __len__(self) -> int:
        return len(self._logs)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Partitions that have a future log."""
        return tuple(self._logs)

    def get(self, partition: TopicPartition) -> Log | None:
        """Return the future log of a partition, even if its directory is offline."""
        entry = self._logs.get(partition)
        return None if entry is None else entry[1]

    def directory_of(self, partition: TopicPartition) -> LogDirectory | None:
        """Return the directory of a partition's future log."""
        entry = self._logs.get(partition)
        return None if entry is None else entry[0]

    def create(
        self,
        directory: LogDirectory,
        partition: TopicPartition,
        topic_id: TopicId,
        *,
        config: LogConfig,
        start_offset: int,
    ) -> Log:
        """Create an empty future log; there must be none. It is not durable before its first sync.

        Raises LogDirError, which takes the directory offline unless there is no free descriptor;
        KafkaError as `future_name`.
        """
        name = future_name(partition, self._world.random_bytes(16))
        try:
            log = create_log(
                self._world,
                directory.root.directory(name, create=True),
                partition,
                config=config,
                parent=directory.root,
                start_offset=start_offset,
                latency=directory.latency,
                files=self._files,
            )
        except (KafkaError, OSError) as error:
            if isinstance(error, OSError):
                directory.fail(error)
            raise LogDirError(directory.path, str(error)) from error
        log.unsynced.owes(encode(topic_id))
        log.topic_id = topic_id
        self.take(directory, log)
        return log

    def take(self, directory: LogDirectory, log: Log) -> None:
        """Keep a future log of `directory` that was created or loaded."""
        directory.add(log, is_future=True)
        log.wants_sync = self._wants_sync
        self._logs[log.partition] = directory, log
        self._nodes[log.partition] = self._node.add(f"{log.partition}-future", "log", log.figures)

    def pop(self, partition: TopicPartition) -> tuple[LogDirectory, Log] | None:
        """Remove a future log from memory, and return it with its directory."""
        entry = self._logs.pop(partition, None)
        if entry is not None:
            del entry[0].futures[partition]
            self._nodes.pop(partition).remove()
        return entry
