"""Where the log of a replica is, or is to be: the metadata may name a directory (KIP-858)."""

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
    """The log of a replica: the one that is there, or an empty one.

    new: there never was a log, so an empty one is no loss. Raises LogDirError: its directory is
    offline, or one is that may have it.
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
    elif log.topic_id is None:  # the power went before it was written whose the log is
        log.unsynced.owes(encode(partition.topic_id))
        log.wants_sync(log)
    log.config = config
    log.topic_id = partition.topic_id
    return log


def _offline_path(logs: LogManager) -> str | None:
    """A directory that could not be read, and may hold logs."""
    lost = [one.path for one in logs.directories if one.offline]
    return next(iter([*logs.offline_paths, *lost]), None)


def _directory(logs: LogManager, directory_id: bytes) -> LogDirectory | None:
    """The directory with that id, where it is one of ours and online."""
    wanted = format_id(directory_id)
    for directory in logs.directories:
        properties = directory.properties
        if properties and properties.directory_id == wanted and not directory.offline:
            return directory
    return None
