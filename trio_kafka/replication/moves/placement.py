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
        directory = _directory(logs, partition, state)
        log = logs.create(partition.at, partition.topic_id, config, directory=directory)
        log.wants_sync(log)
    elif log.failed is not None:
        raise LogDirError(log.failed.path, str(log.failed))
    elif log.topic_id is None:  # a power loss came before `partition.metadata` was written
        log.unsynced.owes(encode(partition.topic_id))
        log.wants_sync(log)
    log.configure(config)
    log.topic_id = partition.topic_id
    return log


def _offline_path(logs: LogManager) -> str | None:
    """Return a directory that could not be read, and may hold logs."""
    lost = [directory.path for directory in logs.directories if directory.offline]
    return next(iter([*logs.offline_paths, *lost]), None)


def _directory(
    logs: LogManager, partition: Partition, state: PartitionState
) -> LogDirectory | None:
    """Return the directory that an operator or the metadata name, if it is online."""
    preferred = logs.preferred.pop(partition.at, None)
    if preferred is not None:
        named = logs.by_path().get(preferred)
        if named is not None and not named.offline:
            return named
    directory_id = format_id(state.directory(partition.node))
    return next((directory for directory in logs.online if directory.has_id(directory_id)), None)
