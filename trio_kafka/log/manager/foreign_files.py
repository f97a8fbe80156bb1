"""Files and directories in a log directory that do not belong to a broker.

They are ignored: an operator may have stored a backup, a file system its `lost+found`.
Source: Kafka skips plain files, and does not start with a directory that is no partition's.
"""

import re
from collections.abc import Sequence
from typing import Final

from trio_kafka.log.files.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    RECOVERY_POINTS,
    START_OFFSETS,
)
from trio_kafka.log.files.names import CLEAN, DELETE, FUTURE, LOCK, STRAY, names_partition
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.model import TopicPartition

_REPLACED: Final = (
    META_PROPERTIES,
    RECOVERY_POINTS,
    START_OFFSETS,
    HIGH_WATERMARKS,
    CLEANER_OFFSETS,
    CLEAN,
)
# Files that a broker (Kafka's too) and a file system keep beside partitions.
OWN_FILES: Final = frozenset(
    {
        LOCK,
        "bootstrap.checkpoint",
        "lost+found",
        "remote-log-index-cache",
        *_REPLACED,
        *(f"{name}.tmp" for name in _REPLACED),
    }
)
_OF_PARTITION: Final = re.compile(
    rf"\d{{20}}\..*|({re.escape(PARTITION_METADATA)}(\.first)?|{LEADER_EPOCHS})(\.tmp)?"
)
_UNIQUE: Final = 33  # a dot and 32 digits


def why_foreign(name: str, parsed: tuple[TopicPartition, str], inside: Sequence[str]) -> str | None:
    """Return why a directory with this name does not belong to a partition; None: it may.

    parsed: as `parse_directory`. inside: the names in it. A power loss may leave the directory of a
        new partition empty.
    """
    partition, mark = parsed
    if mark in (DELETE, STRAY):
        return None
    if mark == FUTURE:
        name = name[: -len(FUTURE) - _UNIQUE]
    if not names_partition(name, partition):
        return "not the name of a partition's directory"
    if inside and not any(map(_OF_PARTITION.fullmatch, inside)):
        return f"no file of a partition in it, but {inside[0]}"
    return None
