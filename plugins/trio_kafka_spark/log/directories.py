"""Partitions and segment files of log directories, as they are now.

Nothing is opened or written here. A directory that is marked for deletion, moving or stray, a name
that no partition has, and a file that is no segment's (`.deleted`, `.cleaned`, foreign ones) are
left out. While compaction replaces segments, or after a crash in the middle of that, the old file
is gone and the new one is still named `.swap`: it is the segment then.
Source: the layout of Kafka's log directories; LocalLog.replaceSegments.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.log.files.names import (
    LOG,
    SWAP,
    names_partition,
    offset_file,
    offsets_of,
    parse_directory,
)
from trio_kafka.model import TopicPartition

START_OFFSETS: Final = "log-start-offset-checkpoint"
_LISTINGS: Final = 5  # while segments come and go; each pair that agrees ends it


class LogDirectoryError(OSError):
    """A log directory cannot be used; the message names it and says what to do."""


@frozen(kw_only=True)
class SegmentFile:
    """One `.log` file, or the `.swap` file that takes its place.

    next_base: first offset of the next segment, None: this one is active.
    inode: tells a file from another one that took its name (compaction replaces files).
    """

    path: str
    base_offset: int
    next_base: int | None
    size: int
    inode: int
    modified_ns: int

    @property
    def is_active(self) -> bool:
        """True for the last segment of a partition, which may still grow."""
        return self.next_base is None


@frozen(kw_only=True)
class PartitionDirectory:
    """A partition's segments in ascending order. start_offset: first offset that readers see."""

    at: TopicPartition
    path: str
    start_offset: int
    segments: tuple[SegmentFile, ...]


def find_partitions(
    paths: Sequence[str], chooses: Callable[[TopicPartition], bool] = lambda _: True
) -> list[PartitionDirectory]:
    """Return the wanted partitions of some log directories, sorted by topic and number.

    Raises LogDirectoryError for a path that is no directory, and for a partition that is in two.
    """
    partitions: dict[TopicPartition, PartitionDirectory] = {}
    for path in paths:
        root = Path(path)
        starts = start_offsets(root)
        for at, directory in _directories(root):
            if not chooses(at):
                continue
            segments = list_segments(directory)
            if not segments:
                continue
            if at in partitions:
                raise LogDirectoryError(
                    f"partition {at} is in {partitions[at].path} and in {directory}: "
                    "give only one of the two directories as `path`"
                )
            first = segments[0].base_offset
            partitions[at] = PartitionDirectory(
                at=at,
                path=str(directory),
                start_offset=max(first, starts.get(at, first)),
                segments=tuple(segments),
            )
    return [partitions[at] for at in sorted(partitions)]


def _directories(root: Path) -> Iterator[tuple[TopicPartition, Path]]:
    try:
        names = sorted(os.listdir(root))  # noqa: PTH208 - names alone are needed
    except OSError as error:
        raise LogDirectoryError(
            f"cannot list {str(root)!r}: {error.strerror}; option `path` wants the log.dirs of a "
            "broker, or a copy, at the same place on every machine that runs tasks"
        ) from error
    for name in names:
        at = partition_of(name)
        if at is not None and (root / name).is_dir():
            yield at, root / name


def partition_of(name: str) -> TopicPartition | None:
    """Return the partition of a directory's name; None: marked (`-delete` …) or not a partition."""
    parsed = parse_directory(name)
    if parsed is None:
        return None
    at, mark = parsed
    return at if names_partition(name, at) and not mark else None


def list_segments(directory: Path) -> list[SegmentFile]:
    """Return the segments of a partition in ascending order; none if it vanished.

    A directory is listed until two listings agree and all their files are there, so a roll or a
    compaction between two names is not half seen.
    """
    names = _names(directory)
    segments: list[SegmentFile] = []
    for _ in range(_LISTINGS):
        segments = _segments(directory, names)
        before, names = names, _names(directory)
        if before == names and len(segments) == len(names):
            break
    return segments


def _segments(directory: Path, names: Mapping[int, str]) -> list[SegmentFile]:
    """Return the segments of these files that are there. names: by base offset."""
    segments: list[SegmentFile] = []
    following: int | None = None
    for base in sorted(names, reverse=True):
        path = directory / names[base]
        try:
            status = path.stat()
        except FileNotFoundError:  # deleted since it was listed
            continue
        segments.append(
            SegmentFile(
                path=str(path),
                base_offset=base,
                next_base=following,
                size=status.st_size,
                inode=status.st_ino,
                modified_ns=status.st_mtime_ns,
            )
        )
        following = base
    return segments[::-1]


def _names(directory: Path) -> dict[int, str]:
    """Return the names of segment files by base offset."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names alone are needed
    except (FileNotFoundError, NotADirectoryError):
        return {}
    swaps = [name.removesuffix(SWAP) for name in names if name.endswith(SWAP)]
    files = {base: offset_file(base, LOG) + SWAP for base in offsets_of(swaps, LOG)}
    # The old file has all records until it is gone.
    return files | {base: offset_file(base, LOG) for base in offsets_of(names, LOG)}


def start_offsets(root: Path) -> dict[TopicPartition, int]:
    """Return the start offsets in a log directory's checkpoint; none if it is absent or malformed.

    As for the broker, a log then begins with its first segment.
    Source: Kafka's checkpoint format: version 0, number of lines, `topic partition offset` lines.
    """
    try:
        lines = (root / START_OFFSETS).read_text(encoding="utf-8").split("\n")
        if lines[0] != "0":
            return {}
        rows = [line.rsplit(" ", 2) for line in lines[2 : 2 + int(lines[1])]]
        return {TopicPartition(topic, int(number)): int(offset) for topic, number, offset in rows}
    except (OSError, ValueError, IndexError):
        return {}
