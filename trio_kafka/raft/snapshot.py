"""Snapshots of the metadata log: `<end offset>-<epoch>.checkpoint` files.

A snapshot is a sequence of batches: a header (with kraft.version 1 also the voters), records, a
footer. It is written under `.part`, synced and renamed. A power loss can still leave the name of an
incomplete file, so the reader checks the footer. The snapshot 0-0 is written by formatting: it
holds the first voters and the records that a cluster begins with.
Source: KIP-630.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.files.descriptor_retry import names_in, sync_names, when_free_now
from trio_kafka.metadata.source import MetadataRecord
from trio_kafka.protocol.stored.control import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from trio_kafka.raft.batches import (
    Control,
    MetadataBatch,
    encode_controls,
    read_controls,
    read_metadata,
)
from trio_kafka.raft.voters import VoterSet, voters_of, voters_record
from trio_kafka.records.batch import BatchHeader, check_crc, iterate_headers
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Directory, File

PART: Final = ".part"
_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_HEADER: Final = 64 << 10  # bytes that hold the first batch: header and voters
_BATCH: Final = 128  # records per batch
_LARGEST: Final = 2 << 30  # bytes of a snapshot that is read, of some ten million partitions
_STEP: Final = 32  # records encoded or decoded between checkpoints


@frozen(order=True)
class SnapshotId:
    """End offset that a snapshot covers, and the epoch of the record before it."""

    offset: int
    epoch: int

    @property
    def name(self) -> str:
        return f"{self.offset:020}-{self.epoch:010}.checkpoint"


BOOTSTRAP: Final = SnapshotId(0, 0)


@define(kw_only=True)
class Snapshot:
    """Content of a snapshot. voters: None if it names none (kraft.version 0)."""

    id: SnapshotId
    timestamp_ms: int
    voters: VoterSet | None
    records: list[MetadataRecord]
    size: int


async def snapshots_in(directory: Directory) -> list[SnapshotId]:
    """Return the snapshots in a directory by name, ascending; without partial files."""
    matches = (_NAME.fullmatch(name) for name in await names_in(directory))
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in matches if match)


async def write_snapshot(
    directory: Directory,
    at: SnapshotId,
    records: Iterable[MetadataRecord],
    *,
    level: int,
    voters: VoterSet | None,
    timestamp_ms: int,
    now_ms: int,
) -> int:
    """Write a snapshot durably, in slices; return its size in bytes. OSError.

    timestamp_ms: of the last record below its offset. level: the metadata.version.
    """
    part = at.name + PART
    if directory.exists(part):
        await directory.unlink(part)
    file = await when_free_now(lambda: directory.create(part))
    try:
        offset = _append_controls(
            file,
            _header_controls(voters, timestamp_ms),
            offset=0,
            epoch=at.epoch,
            now_ms=now_ms,
        )
        rest = iter(records)
        batch = MetadataBatch(level, now_ms)
        while step := list(islice(rest, _STEP)):
            for record in step:
                batch.add(record)
            if len(batch.records) >= _BATCH:
                file.append([batch.seal(offset, at.epoch)])
                offset += len(batch.records)
                batch = MetadataBatch(level, now_ms)
            await trio.lowlevel.checkpoint()
        if batch.records:
            file.append([batch.seal(offset, at.epoch)])
            offset += len(batch.records)
        footer = SnapshotFooterRecord(version=0)
        _append_controls(file, [footer], offset=offset, epoch=at.epoch, now_ms=now_ms)
        await file.sync()
        size = file.size
    finally:
        file.close()
    directory.rename(part, at.name)
    await sync_names(directory)
    return size


async def read_snapshot(directory: Directory, at: SnapshotId) -> Snapshot:
    """Read a snapshot. Raises KafkaError(CORRUPT_MESSAGE) if it is incomplete; OSError."""
    file = await when_free_now(lambda: directory.open(at.name))
    try:
        if file.size > _LARGEST:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{at.name} has {file.size} bytes")
        content = bytearray(file.size)
        size = await file.read(0, content)
    finally:
        file.close()
    reader = _SnapshotReader(memoryview(content)[:size], at)
    for position, header in iterate_headers(reader.content):
        for _ in reader.take(position, header):
            await trio.lowlevel.checkpoint()
    return reader.finish()


async def read_timestamp(directory: Directory, at: SnapshotId) -> int:
    """Return the timestamp (ms) of the last record in a snapshot; -1 if damaged. OSError."""
    file = await when_free_now(lambda: directory.open(at.name))
    try:
        content = memoryview(bytearray(_HEADER))
        content = content[: await file.read(0, content)]
    finally:
        file.close()
    try:
        position, header = next(iterate_headers(content))
        check_crc(content, position, header)
        for control in read_controls(content, position, header):
            if isinstance(control, SnapshotHeaderRecord):
                return control.last_contained_log_timestamp
    except (KafkaError, StopIteration):
        pass
    return -1


def _header_controls(voters: VoterSet | None, timestamp_ms: int) -> list[Control]:
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=timestamp_ms)
    if voters is None or not voters.kraft_version:
        return [header]
    kraft = KRaftVersionRecord(version=0, k_raft_version=voters.kraft_version)
    return [header, kraft, voters_record(voters)]


def _append_controls(
    file: File, controls: list[Control], *, offset: int, epoch: int, now_ms: int
) -> int:
    encoded = encode_controls(controls, base_offset=offset, epoch=epoch, timestamp_ms=now_ms)
    file.append([encoded])
    return offset + len(controls)


class _SnapshotReader:
    """State of the reader of one snapshot."""

    def __init__(self, content: memoryview, at: SnapshotId) -> None:
        self.content = content
        self._at = at
        self._records: list[MetadataRecord] = []
        self._timestamp_ms: int | None = None
        self._kraft_version = 0
        self._voters: VotersRecord | None = None
        self._end = -1  # end position of the footer's batch

    def take(self, position: int, header: BatchHeader) -> Steps[None]:
        check_crc(self.content, position, header)
        if not header.is_control:
            records = read_metadata(self.content, position, header)
            while step := list(islice(records, _STEP)):
                self._records += step
                yield
            return
        for control in read_controls(self.content, position, header):
            match control:
                case SnapshotHeaderRecord():
                    self._timestamp_ms = control.last_contained_log_timestamp
                case KRaftVersionRecord():
                    self._kraft_version = control.k_raft_version
                case VotersRecord():
                    self._voters = control
                case SnapshotFooterRecord():
                    self._end = position + header.size

    def finish(self) -> Snapshot:
        if self._timestamp_ms is None or self._end != len(self.content):
            missing = "header" if self._timestamp_ms is None else "footer"
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"{self._at.name} has no {missing}, want a whole snapshot",
            )
        voters = None
        if self._voters is not None:
            voters = VoterSet(self._kraft_version, voters_of(self._voters))
        return Snapshot(
            id=self._at,
            timestamp_ms=self._timestamp_ms,
            voters=voters,
            records=self._records,
            size=len(self.content),
        )
