"""Names of the files of a partition and of the directories of partitions.

Source: the layout of Kafka's log directories.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition

LOG: Final = ".log"
INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
INDEX_FILES: Final = (INDEX, TIME_INDEX, TRANSACTION_INDEX)
SEGMENT_FILES: Final = (LOG, *INDEX_FILES)

# Suffixes that follow these names.
SWAP: Final = ".swap"
DELETED: Final = ".deleted"

LOCK: Final = ".lock"
CLEAN: Final = ".kafka_cleanshutdown"

DELETE: Final = "-delete"
FUTURE: Final = "-future"
STRAY: Final = "-stray"

_LONGEST: Final = 255
_LARGEST_PARTITION: Final = (1 << 31) - 1
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_OFFSET_FILE: Final = re.compile(r"(\d{20})(\.[a-z]+)")
_PARTITION: Final = re.compile(r"(.+)-(\d+)")
_MARKED: Final = re.compile(r"(.+)\.([0-9a-f]{32})(-delete|-future|-stray)")


@lru_cache(maxsize=64)  # every log begins with the same names
def offset_file(offset: int, suffix: str) -> str:
    """Return the name of the file that begins at `offset`."""
    return f"{offset:020}{suffix}"


def parse_offset_file(name: str) -> tuple[int, str] | None:
    """Return (offset, suffix) of a segment's file or a snapshot; None: another name."""
    match = _OFFSET_FILE.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def offsets_of(names: Iterable[str], suffix: str) -> list[int]:
    """Return the offsets of the files with this suffix, ascending."""
    # Compare the suffix first: a log of many segments has four times as many other names.
    files = (parse_offset_file(name) for name in names if name.endswith(suffix))
    return sorted(file[0] for file in files if file is not None)


def parse_directory(name: str) -> tuple[TopicPartition, str] | None:
    """Return the partition of a directory's name and its mark: DELETE, FUTURE, STRAY or ""."""
    mark = ""
    if marked := _MARKED.fullmatch(name):
        name, mark = marked[1], marked[3]
    match = _PARTITION.fullmatch(name)
    return (TopicPartition(match[1], int(match[2])), mark) if match else None


def names_partition(name: str, partition: TopicPartition) -> bool:
    """Return whether a directory of this partition, parsed from its name, is named so by Kafka."""
    is_legal = _TOPIC.fullmatch(partition.topic) and partition.partition <= _LARGEST_PARTITION
    return bool(is_legal) and str(partition) == name


def marked_directory(partition: TopicPartition, unique: bytes, mark: str) -> str:
    """Return the new name of a directory that is no longer served. Long topic names are cut.

    unique: 16 bytes, so that a topic can be deleted, created and deleted again.
    """
    tail = f"-{partition.partition}.{unique.hex()}{mark}"
    return partition.topic[: _LONGEST - len(tail)] + tail


def future_name(partition: TopicPartition, unique: bytes) -> str:
    """Return the name of a future log's directory. unique: 16 bytes.

    Raises KafkaError(INVALID_TOPIC_EXCEPTION) if it would be too long: it must not be cut, as a
    start reads the partition from it.
    """
    name = f"{partition}.{unique.hex()}{FUTURE}"
    if len(name) > _LONGEST:
        reason = f"a name of {len(name)} bytes for the directory of {partition}: want {_LONGEST}"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    return name
