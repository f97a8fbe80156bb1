"""Producer snapshots of a log: written, listed, removed; and the producers loaded from them.

A load reads the newest usable snapshot and the batches after it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import trio

from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.checkpoints import OversizedFileError, read_file
from trio_kafka.log.files.descriptor_retry import names_in
from trio_kafka.log.files.names import SNAPSHOT, offset_file, offsets_of
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork, ReadBytes, run_in_threads
from trio_kafka.log.producer_snapshot_format import CorruptSnapshotError, decode, encode
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.scan.walk import BULK, walk
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.log.transaction_markers import note_batch
from trio_kafka.records.header import BatchHeader
from trio_kafka.scheduling.chunked_work import step
from trio_kafka.world.protocols import Directory, File

_WINDOW: Final = 1 << 20
_LARGEST: Final = 256 << 20  # of five million producers
_logger: Final = get_logger(__name__)


async def snapshots(directory: Directory) -> list[int]:
    """Return the offsets of the snapshots in a directory, ascending."""
    return snapshots_among(await names_in(directory))


def snapshots_among(names: Iterable[str]) -> list[int]:
    """Return the offsets of the snapshots among these names, ascending."""
    return offsets_of(names, SNAPSHOT)


def write_snapshot(
    directory: Directory, files: OpenFiles, offset: int, *, producers: ProducerState
) -> FileWork[File]:
    """Write the producers as they are at `offset`; return the file, which is not durable yet.

    OSError; KafkaError(REPLICA_NOT_AVAILABLE): no descriptor is left.
    """
    name = offset_file(offset, SNAPSHOT)
    file = yield from files.create(directory, name, encode(producers), replace=True)
    producers.loads_at = offset
    return file


async def drop_snapshots(
    directory: Directory, above: int, offsets: Sequence[int] | None = None
) -> list[int]:
    """Remove snapshots of offsets above the end of the log. Return those that stay.

    offsets: of the snapshots; None: list the directory.
    """
    offsets = await snapshots(directory) if offsets is None else offsets
    for offset in offsets:
        if offset > above:
            await directory.unlink(offset_file(offset, SNAPSHOT))
    return [offset for offset in offsets if offset <= above]


async def drop_strays(
    directory: Directory, bases: Collection[int], offsets: Sequence[int] | None = None
) -> list[int]:
    """Remove snapshots at which no segment begins: clean stops wrote them. Return the others.

    bases: base offsets of the segments. The newest snapshot stays if no segment begins after it: it
        is that of the end of the log. offsets: of the snapshots; None: list the directory.
    """
    offsets = await snapshots(directory) if offsets is None else offsets
    strays = [offset for offset in offsets if offset not in bases]
    if strays and strays[-1] >= max(bases, default=0):
        strays.pop()
    for offset in strays:
        await directory.unlink(offset_file(offset, SNAPSHOT))
    return [offset for offset in offsets if offset not in strays]


async def load_producers(
    directory: Directory,
    segments: Segments,
    upto: int,
    *,
    end_offset: int,
    rebuilt: set[Segment],
    offsets: Sequence[int] | None = None,
    without: Collection[Segment] = (),
    silent_since: int | None = None,
) -> ProducerState:
    """Load the producers at `end_offset`.

    upto: no snapshot above it is used. rebuilt: segments whose transaction index is filled.
    offsets: of the snapshots; None: list the directory.
    without: segments without a batch of a producer, which need not be read.
    silent_since: producers of a snapshot without a batch after this time (ms) are forgotten.
        Producers of later batches are not, as duplicates of these may still arrive.
    A damaged snapshot is removed: a scan of the log replaces it.
    """
    producers, begin = ProducerState(), segments.first.base_offset
    for offset in reversed(await snapshots(directory) if offsets is None else offsets):
        if offset > upto:
            continue
        try:
            content = await read_file(directory, offset_file(offset, SNAPSHOT), _LARGEST)
            producers, begin = await _decoded(content or b""), offset
        except (CorruptSnapshotError, OversizedFileError) as error:
            name = offset_file(offset, SNAPSHOT)
            _logger.warning("snapshot removed", path=directory.path, name=name, reason=str(error))
            await directory.unlink(name)
            continue
        if silent_since is not None:
            for _ in producers.expire(silent_since):
                await trio.lowlevel.checkpoint()
        break
    producers.loads_at = begin
    if begin >= end_offset:
        return producers
    number = segments.floor(begin)
    while (segment := segments.at(number)) is not None:
        if segment not in without:
            into = segment if segment in rebuilt else None
            await run_in_threads(_replay(segment, begin, producers, into=into))
        number += 1
    return producers


async def _decoded(content: bytes) -> ProducerState:
    """Decode a snapshot; other tasks run between steps. Raises CorruptSnapshotError."""
    steps = decode(content)
    while (done := step(steps)) is None:
        await trio.lowlevel.checkpoint()
    return done.value


def _replay(
    segment: Segment, begin: int, producers: ProducerState, *, into: Segment | None
) -> FileWork[None]:
    """Note the batches of one segment from offset `begin` on, a window at a time."""
    spot = yield from segment.find(begin)
    if spot is None:
        return
    file, position = segment.file, spot.position
    seen: list[tuple[int, BatchHeader]] = []

    def see(at: int, header: BatchHeader) -> None:
        if header.producer_id >= 0:
            seen.append((at, header))

    while position < file.size:
        seen.clear()
        after = yield from walk(file, position, see, end=position + _WINDOW, chunk=BULK)
        for at, header in seen:
            whole: bytes | memoryview = b""
            if header.is_control:
                whole = yield ReadBytes(file, at, header.size, header.size)
            aborted = note_batch(producers, header, whole, position=0)
            if aborted is not None and into is not None:
                into.transactions.append(aborted)
        if after == position:
            return
        position = after
