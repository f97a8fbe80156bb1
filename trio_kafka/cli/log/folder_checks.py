"""Checks of whole directories: a partition with all of its files, and a log directory's own files.

A file alone is checked too: an index together with the segment beside it.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.cli.log.batches import Gap, read_batches
from trio_kafka.cli.log.decoders import UndecodableError, decode_control, decoder_of
from trio_kafka.cli.log.entries import DamagedFileError, Entry, read_entries
from trio_kafka.cli.log.findings import Finding, Level, error, warning
from trio_kafka.cli.log.places import Folder, Kind, LogFile, classify
from trio_kafka.cli.log.segment_checks import LogCheck
from trio_kafka.errors import KafkaError
from trio_kafka.log.epochs import NO_EPOCH, LeaderEpochs
from trio_kafka.log.files.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
)
from trio_kafka.log.files.names import CLEAN
from trio_kafka.model import TopicPartition
from trio_kafka.records.control import ControlType
from trio_kafka.world.blocking_file import open_reader

_OF_SEGMENT: Final = (Kind.OFFSET_INDEX, Kind.TIME_INDEX, Kind.TRANSACTION_INDEX)
_SUFFIX: Final = ".log"
_AHEAD: Final[Mapping[str, Level]] = {
    RECOVERY_POINTS: Level.ERROR,
    START_OFFSETS: Level.ERROR,
    HIGH_WATERMARKS: Level.WARNING,
    CLEANER_OFFSETS: Level.WARNING,
}


@frozen
class Range:
    """First offset of a partition's first segment, and the offset after its last batch."""

    start: int
    end: int


@define(kw_only=True)
class Checker:
    """Check of folders, one after the other. Counts what it has seen.

    quick: records are not decoded.
    """

    quick: bool = False
    files: int = field(default=0, init=False)
    bytes: int = field(default=0, init=False)
    batches: int = field(default=0, init=False)
    partitions: int = field(default=0, init=False)
    _ranges: dict[tuple[Path, TopicPartition], Range] = field(factory=dict, init=False)

    def check(self, folder: Folder) -> Iterator[Finding]:
        """Yield findings about a folder. A log directory's own one comes after its partitions."""
        for file in folder.files:
            try:
                self.bytes += file.path.stat().st_size
            except FileNotFoundError:
                continue  # deleted meanwhile
            self.files += 1
        if not folder.whole:
            yield from self._check_file(folder)
        elif folder.partition is not None or folder.of_kind(Kind.SEGMENT):
            yield from self._check_partition(folder)
        else:
            yield from self._check_root(folder)

    def _check_file(self, folder: Folder) -> Iterator[Finding]:
        (file,) = folder.files
        if file.kind is Kind.SEGMENT:
            yield from self._log_check(folder).check([(file, {})])
        elif file.kind in _OF_SEGMENT:
            log = classify(file.path.with_name(f"{file.offset:020}{_SUFFIX}"))
            if log is None or not log.path.exists():
                yield warning(file.path, "no segment is beside it: its entries are only read")
                yield from _check_small(file)
                return
            findings = self._log_check(folder, quick=True).check([(log, {file.kind: file})])
            yield from (finding for finding in findings if finding.path == file.path)
        else:
            yield from self._check_other(file)

    def _log_check(
        self, folder: Folder, epochs: LeaderEpochs | None = None, *, quick: bool = False
    ) -> LogCheck:
        root = folder.path.absolute().parent
        is_clean = (root / CLEAN).exists()
        return LogCheck(
            topic=folder.partition.topic if folder.partition else None,
            quick=quick or self.quick,
            growing=Level.ERROR if is_clean or not folder.whole else Level.WARNING,
            compacted=folder.partition in _offsets_in(root / CLEANER_OFFSETS),
            epoch_at=epochs.epoch_at if epochs else lambda _: NO_EPOCH,
            last_epoch=epochs.latest if epochs else NO_EPOCH,
        )

    def _check_partition(self, folder: Folder) -> Iterator[Finding]:
        self.partitions += 1
        rows: list[tuple[int, int]] = []
        for file in folder.files:
            if file.mark:
                text = f"left by an unfinished change, or in the middle of one ({file.mark})"
                yield warning(file.path, text)
            elif file.kind is Kind.EPOCHS:
                yield from _check_epochs(file, rows)
            elif file.kind not in (Kind.SEGMENT, *_OF_SEGMENT):
                yield from self._check_other(file)
        epochs = LeaderEpochs(rows)
        by_offset: dict[int, dict[Kind, LogFile]] = {}
        for kind in _OF_SEGMENT:
            for index in folder.of_kind(kind):
                by_offset.setdefault(index.offset, {})[kind] = index
        logs = folder.of_kind(Kind.SEGMENT)
        check = self._log_check(folder, epochs)
        yield from check.check([(log, by_offset.pop(log.offset, {})) for log in logs])
        for indexes in by_offset.values():
            for index in indexes.values():
                yield warning(index.path, "no segment has this offset: a broker removes it")
        self.batches += check.batches
        is_live = str(folder.partition) == folder.path.absolute().name
        if folder.partition is not None and is_live and check.start_offset is not None:
            at = (folder.path.absolute().parent, folder.partition)
            self._ranges[at] = Range(check.start_offset, check.end_offset)
        yield from _check_snapshots(folder, check.end_offset)

    def _check_other(self, file: LogFile) -> Iterator[Finding]:
        if file.kind is Kind.METADATA_SNAPSHOT:
            yield from _check_metadata_snapshot(file, quick=self.quick)
        else:
            yield from _check_small(file)

    def _check_root(self, folder: Folder) -> Iterator[Finding]:
        root = folder.path.absolute()
        for file in folder.files:
            if file.mark or file.kind is not Kind.OFFSETS:
                yield from self._check_other(file)
                continue
            yield from self._check_offsets(file, root)
        if not folder.of_kind(Kind.DIRECTORY):
            yield warning(folder.path, "no meta.properties: the directory is not formatted")

    def _check_offsets(self, file: LogFile, root: Path) -> Iterator[Finding]:
        """Compare a checkpoint with the partitions that were checked before."""
        try:
            for entry in read_entries(file):
                partition = TopicPartition(entry["topic"], entry["partition"])
                offsets = self._ranges.get((root, partition))
                if offsets is None:
                    if not (root / str(partition)).is_dir():
                        yield warning(file.path, f"{partition} is not in this directory")
                elif entry["offset"] > offsets.end:
                    text = f"{partition}: {entry['offset']} is after the log's end, {offsets.end}"
                    yield Finding(level=_AHEAD[file.path.name], path=file.path, text=text)
        except DamagedFileError as problem:
            yield error(file.path, str(problem), problem.position)


def _offsets_in(path: Path) -> set[TopicPartition]:
    """Return the partitions in a checkpoint; none if it cannot be read."""
    file = classify(path)
    if file is None:
        return set()
    try:
        return {TopicPartition(entry["topic"], entry["partition"]) for entry in read_entries(file)}
    except (OSError, DamagedFileError):
        return set()


def _check_small(file: LogFile) -> Iterator[Finding]:
    """Read all entries of a file."""
    try:
        for _ in read_entries(file):
            pass
    except FileNotFoundError:
        return
    except DamagedFileError as problem:
        yield error(file.path, str(problem), problem.position)


def _check_epochs(file: LogFile, rows: list[tuple[int, int]]) -> Iterator[Finding]:
    """Read the leader epochs into `rows`."""
    before: Entry | None = None
    try:
        for entry in read_entries(file):
            if before and not (
                before["epoch"] < entry["epoch"] and before["start_offset"] < entry["start_offset"]
            ):
                text = f"epoch {entry['epoch']} from {entry['start_offset']} does not ascend"
                yield error(file.path, text)
                rows.clear()
                return
            before = entry
            rows.append((entry["epoch"], entry["start_offset"]))
    except FileNotFoundError:
        return
    except DamagedFileError as problem:
        yield error(file.path, str(problem), problem.position)


def _check_snapshots(folder: Folder, end_offset: int) -> Iterator[Finding]:
    """Compare producer snapshots with the log. Damage in them was found before."""
    for file in folder.of_kind(Kind.PRODUCERS):
        if file.offset > end_offset:
            yield warning(file.path, f"it is of offset {file.offset}, the log ends at {end_offset}")
        try:
            for entry in read_entries(file):
                if entry["last_offset"] >= file.offset:
                    text = f"producer {entry['producer_id']} has a batch at {entry['last_offset']}"
                    yield error(file.path, text, offset=file.offset)
        except (FileNotFoundError, DamagedFileError):
            continue


def _check_metadata_snapshot(file: LogFile, *, quick: bool) -> Iterator[Finding]:
    """Check a snapshot of the metadata log: whole batches between a header and a footer."""
    kinds: list[int] = []
    decode = decoder_of("metadata", None)
    try:
        with open_reader(file.path) as reader:
            for piece in read_batches(reader):
                if isinstance(piece, Gap):
                    text = f"{piece.end - piece.position} bytes are no batch: {piece.reason}"
                    yield error(file.path, text, piece.position)
                    continue
                if not piece.is_valid:
                    text = f"crc {piece.crc_found:08x}, the batch has {piece.header.crc:08x}"
                    yield error(file.path, text, piece.position)
                    continue
                if quick and not piece.header.is_control:
                    continue
                for record in piece.records():
                    try:
                        if piece.header.is_control:
                            kinds.append(decode_control(record).number)
                        elif decode is not None:
                            decode(record)
                    except UndecodableError as problem:
                        yield warning(file.path, str(problem), piece.position, offset=record.offset)
    except FileNotFoundError:
        return
    except KafkaError as problem:
        yield error(file.path, problem.message or "")
    if file.path.name != "bootstrap.checkpoint" and (
        kinds[:1] != [ControlType.SNAPSHOT_HEADER] or kinds[-1:] != [ControlType.SNAPSHOT_FOOTER]
    ):
        yield error(file.path, "no header at its begin, or no footer at its end: incomplete")
