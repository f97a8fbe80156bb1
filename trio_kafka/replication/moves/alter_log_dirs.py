"""AlterReplicaLogDirs for one replica: check the target, then begin, change or cancel its move.

Source: KIP-113; the rules of Kafka's ReplicaManager.
"""

from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.files.names import future_name
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.model import TopicPartition
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.table import Replicas

MOST_PREFERRED: Final = 10_000
_NO_ID: Final = bytes(16)


def alter_log_dir(replicas: Replicas, moves: LogMoves, at: TopicPartition, *, path: str) -> None:
    """Move a replica into the directory with an absolute path. Into its own: cancel the move.

    A replica that this broker does not have is created there later, but the answer is an error.
    Raises KafkaError: INVALID_TOPIC_EXCEPTION if the topic's name is too long, LOG_DIR_NOT_FOUND,
    KAFKA_STORAGE_ERROR, INVALID_REPLICA_ASSIGNMENT for a cordoned directory,
    UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE.
    """
    logs = moves.logs
    future_name(at, _NO_ID)
    directory = check_target(logs, path)
    partition = replicas.find((at.topic, at.partition))
    if partition is None:
        _prefer(logs, at, path)
        partition = _missing(replicas, at)
    if len(logs.online) < len(logs.by_path()):
        lost = next(
            path
            for path, directory in logs.by_path().items()
            if directory is None or directory.offline
        )
        reason = f"{lost} is offline, and may hold a future log of {at}: remove it from log.dirs"
        if at not in directory.logs:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
    try:
        moves.begin(partition, directory)
    except LogDirError as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
    except KafkaError as error:
        if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, str(error)) from error
        raise


def check_target(logs: LogManager, path: str) -> LogDirectory:
    """Return the directory with an absolute path.

    Raises KafkaError: LOG_DIR_NOT_FOUND; KAFKA_STORAGE_ERROR if it is offline;
    INVALID_REPLICA_ASSIGNMENT if it is cordoned.
    """
    directories = logs.by_path()
    if path not in directories:
        reason = f"{path} is not in log.dirs, expected one of {', '.join(directories)}"
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, reason)
    directory = directories[path]
    if directory is None or directory.offline:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory {path} is offline")
    if logs.is_cordoned(directory):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{path} is cordoned: see cordoned.log.dirs"
        )
    return directory


def _missing(replicas: Replicas, at: TopicPartition) -> Partition:
    """Raise the error of a replica that this broker does not have."""
    try:
        return replicas.partition(at.topic, at.partition)
    except KafkaError as error:
        if error.code is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{at} has no replica here") from None
        raise


def _prefer(logs: LogManager, at: TopicPartition, path: str) -> None:
    """Note where a replica is to be created. The oldest note is dropped if there are too many."""
    logs.preferred.pop(at, None)
    logs.preferred[at] = path
    if len(logs.preferred) > MOST_PREFERRED:
        del logs.preferred[next(iter(logs.preferred))]
