"""Check of one segment in a worker process: a job of plain data in, plain data out.

The job only reads. A broker that is killed may leave it running for a moment, which harms nothing.
"""

from trio_kafka.attributes import frozen
from trio_kafka.log.files.operations import run_in_steps
from trio_kafka.log.recovery.verify import CheckProgress, checking
from trio_kafka.log.segment import Segment, Summary
from trio_kafka.records.header import BatchHeader
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Directory


@frozen(kw_only=True)
class CheckedSegment:
    """Result of a job. end: position after the last whole batch. checked: as after `checking`.

    epochs: leader epochs in the order of the batches, each with its first offset.
    """

    end: int
    checked: CheckProgress
    epochs: tuple[tuple[int, int], ...]
    summary: Summary


def check_in_job(
    directory: Directory, base_offset: int, checked: CheckProgress, index_interval_bytes: int
) -> Steps[CheckedSegment]:
    """Check the segment that begins with `base_offset`, from its begin on. OSError."""
    segment = Segment.open(directory, base_offset, 0)
    epochs: list[tuple[int, int]] = []

    def see(position: int, header: BatchHeader) -> None:
        del position
        if not epochs or epochs[-1][0] != header.leader_epoch:
            epochs.append((header.leader_epoch, header.base_offset))

    try:
        end = yield from run_in_steps(checking(segment, checked, index_interval_bytes, see=see))
        return CheckedSegment(
            end=end, checked=checked, epochs=tuple(epochs), summary=segment.summary()
        )
    finally:
        segment.close()
