"""Directory of a replica's log. The metadata may name it (KIP-858)."""

from trio_kafka.errors import LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.partition_metadata import encode, format_id
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import PartitionState
from trio_kafka.replication.partition import Partition


def log_of(
    logs: LogManager,
    partition: Partition,
    state: PartitionState,
    config: LogConfig,
    *,
    new: bool,
) -> Log:
    """Return the log of a replica, the existing one or a new one.

    new: the replica never had a log, so an empty one loses nothing.
    Raises LogDirError if its directory is offline, or if an offline directory may hold it.
    """
    log = logs.get(partition.at)
    if log is None:
        lost = _offline_path(logs)
        if lost is not None and not new:
            raise LogDirError(lost, f"is offline, and may hold {partition.at}")
        directory = _directory(logs, state.directory(partition.node))
        log = logs.create(partition.at, partition.topic_id, config, directory)
        log.wants_sync(log)
    elif log.failed is not None:
        raise LogDirError(log.failed.path, str(log.failed))
    elif log.topic_id is None:  # a power loss came before `partition.metadata` was written
        log.unsynced.owes(encode(partition.topic_id))
        log.wants_sync(log)
    log.config = config
    log.topic_id = partition.topic_id
    return log


def _offline_path(logs: LogManager) -> str | None:
    """Return a directory that could not be read, and may hold logs."""
    lost = [one.path for one in logs.directories if one.offline]
    return next(iter([*logs.offline_paths, *lost]), None)


def _directory(logs: LogManager, directory_id: bytes) -> LogDirectory | None:
    """Return the online directory with that id, if there is one."""
    wanted = format_id(directory_id)
    for directory in logs.directories:
        properties = directory.properties
        if properties and properties.directory_id == wanted and not directory.offline:
            return directory
    return None
