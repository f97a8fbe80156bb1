"""Groups of neighbouring segments that are cleaned into one, so that segments do not shrink to
nothing.

Source: Kafka's grouping by the sizes before cleaning.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.log.cleaner.job import CleaningJob, SealedFile

_LARGEST_RELATIVE: Final = (1 << 31) - 1


def group_segments(job: CleaningJob, end_offset: int) -> list[list[SealedFile]]:
    """Return the segments that begin below `end_offset`, in groups.

    A group has at most the size of a segment, in its log and in each index, and its offsets fit
    into 31 bits from the first base offset on. A segment that is larger is a group of its own.
    """
    segments = [segment for segment in job.segments if segment.base_offset < end_offset]
    groups: list[list[SealedFile]] = []
    for number, segment in enumerate(segments):
        last = _last_offset(job, segments, number)
        if groups and _fits(job, groups[-1], segment, last=last):
            groups[-1].append(segment)
        else:
            groups.append([segment])
    return groups


def _last_offset(job: CleaningJob, segments: Sequence[SealedFile], number: int) -> int:
    """Return an upper bound of the offsets in a segment, without reading it."""
    if number + 1 < len(segments):
        return segments[number + 1].base_offset - 1
    return job.first_uncleanable_offset - 1


def _fits(job: CleaningJob, group: Sequence[SealedFile], segment: SealedFile, *, last: int) -> bool:
    rules = job.rules
    most_index = rules.segment_index_bytes
    return (
        sum(other.size for other in group) + segment.size <= rules.segment_bytes
        and sum(other.index_size for other in group) + segment.index_size <= most_index
        and sum(other.time_index_size for other in group) + segment.time_index_size <= most_index
        # An empty segment has no offsets: otherwise one would remain for each 2^31 offsets.
        and (not segment.size or last - group[0].base_offset <= _LARGEST_RELATIVE)
    )
