"""Verification of a segment after a crash: find the end of its whole batches, rebuild its indexes.

A whole batch has a matching CRC, and neither an offset nor a leader epoch below the one before. So
remains of a lost truncation after a new tail are not taken for a part of it.
"""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.epochs import NO_EPOCH
from trio_kafka.log.files.operations import FileWork, run_in_threads
from trio_kafka.log.scan.batches import BatchScan
from trio_kafka.log.scan.walk import STOP, searching, walking
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import File

See = Callable[[int, BatchHeader], None]
_LARGEST_LENGTH: Final = (1 << 31) - 1
_BATCHES: Final = 100  # checked between two pauses: about 1 ms


@define
class CheckProgress:
    """Progress of a check: offsets and epochs may not fall below it.

    gapless: no offset may be missing, as this log is not compacted.
    producers: whether a batch of an idempotent producer was seen.
    """

    end_offset: int
    epoch: int = NO_EPOCH
    gapless: bool = field(default=False, kw_only=True)
    producers: bool = field(default=False, init=False)

    def note(self, header: BatchHeader) -> None:
        """Take over a whole batch."""
        self.end_offset = header.next_offset
        self.epoch = header.leader_epoch
        if header.producer_id >= 0:
            self.producers = True

    def take(self, other: "CheckProgress") -> None:
        """Take over the progress of a check in another process."""
        self.end_offset, self.epoch = other.end_offset, other.epoch
        self.producers |= other.producers

    def accepts(self, header: BatchHeader) -> bool:
        return (
            header.base_offset >= self.end_offset
            and header.leader_epoch >= self.epoch
            and header.last_offset_delta >= 0
            and not (self.gapless and header.base_offset > self.end_offset)
        )


async def check_segment(
    segment: Segment,
    checked: CheckProgress,
    index_interval_bytes: int,
    *,
    see: See,
    position: int = 0,
) -> int:
    """Check a segment in threads, see `checking`. OSError."""
    return await run_in_threads(
        checking(segment, checked, index_interval_bytes, see=see, position=position)
    )


def checking(
    segment: Segment,
    checked: CheckProgress,
    index_interval_bytes: int,
    *,
    see: See,
    position: int = 0,
) -> FileWork[int]:
    """Rebuild the indexes in memory and call `see` for every whole batch. Return where the last one
    ends.

    checked: updated. position: above 0, continue there with the existing indexes.
    Reads 256 KiB, or one batch, at a time. OSError.
    """
    if not position:
        segment.reset()

    def take(at: int, header: BatchHeader) -> object:
        if not checked.accepts(header) or not segment.reaches(header.last_offset):
            return STOP
        segment.wrote(at, header, index_interval_bytes)
        see(at, header)
        checked.note(header)
        return None

    scan = BatchScan(
        size=segment.file.size,
        position=position,
        largest_message=_LARGEST_LENGTH,
        crcs=True,
        matching=True,
        whole=True,
        resumes=False,
    )
    return (yield from walking(segment.file, scan, take, pause_every=_BATCHES))


async def find_whole_batch(
    file: File,
    position: int,
    checked: CheckProgress,
    *,
    search: WholeBatchSearch,
    most: int | None = None,
) -> int | None:
    """Find the first whole batch after damage at `position`; None: there is none.

    search: one for the file. most: bytes to search; None: all. Linear, see `WholeBatchSearch`.
    Other tasks run meanwhile. OSError.
    """
    # Offsets and epochs are outside of the CRC. In a gapless log they alone may be damaged.
    work = search.find(
        position,
        checked.end_offset,
        least_epoch=None if checked.gapless else checked.epoch,
        stop=None if most is None else position + most,
    )
    return await run_in_threads(searching(file, work))
