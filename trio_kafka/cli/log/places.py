"""Files that a PATH names: one file, those of a partition, or those of a whole log directory.

A file is known by its name. Names with `.deleted`, `.cleaned` or `.swap` behind are known too.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.cli import FAILED, CommandFailedError
from trio_kafka.log.files.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    RECOVERY_POINTS,
    START_OFFSETS,
)
from trio_kafka.log.files.names import CLEAN, parse_directory
from trio_kafka.log.files.partition_metadata import NAME as PARTITION_METADATA
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.model import TopicPartition


class Kind(StrEnum):
    """Kind of a file, by its name."""

    SEGMENT = "segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCERS = "producer snapshot"
    METADATA_SNAPSHOT = "metadata snapshot"
    OFFSETS = "checkpoint"
    EPOCHS = "leader epochs"
    PARTITION = "partition metadata"
    DIRECTORY = "directory identity"
    QUORUM = "quorum state"
    CLEAN_STOP = "clean shutdown mark"


_BY_SUFFIX: Final = {
    ".log": Kind.SEGMENT,
    ".index": Kind.OFFSET_INDEX,
    ".timeindex": Kind.TIME_INDEX,
    ".txnindex": Kind.TRANSACTION_INDEX,
    ".snapshot": Kind.PRODUCERS,
}
_BY_NAME: Final = {
    RECOVERY_POINTS: Kind.OFFSETS,
    HIGH_WATERMARKS: Kind.OFFSETS,
    START_OFFSETS: Kind.OFFSETS,
    CLEANER_OFFSETS: Kind.OFFSETS,
    LEADER_EPOCHS: Kind.EPOCHS,
    PARTITION_METADATA: Kind.PARTITION,
    META_PROPERTIES: Kind.DIRECTORY,
    "quorum-state": Kind.QUORUM,
    CLEAN: Kind.CLEAN_STOP,
    "bootstrap.checkpoint": Kind.METADATA_SNAPSHOT,
}
_OFFSET_FILE: Final = re.compile(r"(\d{20})(\.[a-z]+)(\..+)?")
_METADATA_SNAPSHOT: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint(\.part|\.deleted)?")
# Order in which the files of a partition are shown: segments with their indexes come first.
_ORDER: Final = {kind: number for number, kind in enumerate(Kind)}


@frozen(kw_only=True)
class LogFile:
    """One file. offset: in its name, -1 without one. mark: what follows the suffix, such as
    `.deleted`. partition: that of its directory, None for another directory.
    """

    path: Path
    kind: Kind
    offset: int = -1
    epoch: int = -1
    mark: str = ""
    partition: TopicPartition | None = None


@frozen(kw_only=True)
class Folder:
    """Files of one directory, or one file of it alone.

    whole: all of its files. unknown: names of files that are of no kind.
    """

    path: Path
    files: Sequence[LogFile]
    partition: TopicPartition | None = None
    whole: bool = True
    unknown: Sequence[str] = field(factory=list)

    def of_kind(self, kind: Kind) -> list[LogFile]:
        """Return its files of one kind, without leftovers such as `.deleted`."""
        return [file for file in self.files if file.kind is kind and not file.mark]


def classify(path: Path) -> LogFile | None:
    """Return what a file is, by its name and that of its directory; None: unknown."""
    parsed = parse_directory(path.absolute().parent.name)
    partition = parsed[0] if parsed else None
    if match := _OFFSET_FILE.fullmatch(path.name):
        kind = _BY_SUFFIX.get(match[2])
        if kind is not None:
            offset, mark = int(match[1]), match[3] or ""
            return LogFile(path=path, kind=kind, offset=offset, mark=mark, partition=partition)
    if match := _METADATA_SNAPSHOT.fullmatch(path.name):
        return LogFile(
            path=path,
            kind=Kind.METADATA_SNAPSHOT,
            offset=int(match[1]),
            epoch=int(match[2]),
            mark=match[3] or "",
            partition=partition,
        )
    kind = _BY_NAME.get(path.name)
    return None if kind is None else LogFile(path=path, kind=kind, partition=partition)


def folders_of(paths: Iterable[str]) -> Iterator[Folder]:
    """Yield the directories that the paths name: each partition, and log directories' own files.

    A file is a folder with that file alone. Raises CommandFailedError for a path that does not
    exist, cannot be read, or names no file of a log.
    """
    for text in paths:
        path = Path(text)
        try:
            yield from _folders_of(path)
        except OSError as error:
            raise CommandFailedError(f"{text}: {error.strerror or error}", FAILED) from error


def _folders_of(path: Path) -> Iterator[Folder]:
    if not path.is_dir():
        path.stat()
        file = classify(path)
        if file is None:
            raise CommandFailedError(
                f"{path}: not the name of a file of a log, such as {0:020}.log", FAILED
            )
        yield Folder(path=path.parent, files=[file], partition=file.partition, whole=False)
        return
    own = _folder(path)
    inside = sorted(_partitions_in(path), key=_partition_order)
    if not own.files and not inside and own.partition is None:
        raise CommandFailedError(
            f"{path}: neither a partition nor a log directory: no file of a log is in it", FAILED
        )
    if own.files or own.partition is not None:
        yield own
    for folder in inside:
        try:
            yield _folder(folder)
        except FileNotFoundError:
            continue  # the partition was deleted meanwhile


def _partitions_in(path: Path) -> Iterator[Path]:
    with os.scandir(path) as entries:
        for entry in entries:
            if parse_directory(entry.name) and entry.is_dir():
                yield path / entry.name


def _partition_order(path: Path) -> tuple[str, int, str]:
    parsed = parse_directory(path.name)
    return (parsed[0].topic, parsed[0].partition, parsed[1]) if parsed else (path.name, 0, "")


def _folder(path: Path) -> Folder:
    files, unknown = [], []
    with os.scandir(path) as entries:
        names = sorted(entry.name for entry in entries if entry.is_file())
    for name in names:
        file = classify(path / name)
        if file is None:
            unknown.append(name)
        else:
            files.append(file)
    files.sort(key=lambda file: (file.offset < 0, file.offset, _ORDER[file.kind], file.path.name))
    parsed = parse_directory(path.absolute().name)
    partition = parsed[0] if parsed else None
    return Folder(path=path, files=files, partition=partition, unknown=unknown)
