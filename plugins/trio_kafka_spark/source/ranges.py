"""Split offset ranges of partitions into tasks: minPartitions and maxRecordsPerPartition.

The arithmetic is that of Spark's own Kafka connector, so that a query has as many tasks as before;
a test holds the two equal. Sizes are differences of offsets: a compacted or transactional log holds
fewer records than that.
"""

import math
from collections.abc import Sequence

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class OffsetRange:
    """Offsets of one partition that one task reads: start <= offset < stop.

    from_earliest: the start stands for the earliest record, wherever that is when the task runs.
    """

    partition: TopicPartition
    start: int
    stop: int
    from_earliest: bool = False

    @property
    def size(self) -> int:
        """Number of offsets; no more records than that."""
        return self.stop - self.start


def split(
    ranges: Sequence[OffsetRange],
    *,
    at_least: int | None = None,
    records_each: int | None = None,
) -> list[OffsetRange]:
    """Return the tasks of a read, in the order of `ranges`. Empty ranges are left out.

    at_least: option minPartitions; larger ranges are cut until there are about so many.
    records_each: option maxRecordsPerPartition; a range that is larger is cut, which comes first.
    """
    pieces = [range_ for range_ in ranges if range_.size > 0]
    if records_each is not None:
        pieces = [
            part
            for range_ in pieces
            for part in _cut(range_, math.ceil(range_.size / float(records_each)))
        ]
    if at_least is None or len(pieces) >= at_least:
        return pieces
    total = sum(range_.size for range_ in pieces)
    whole = {range_.partition for range_ in pieces if _share(range_.size, total, at_least) == 1}
    kept = [range_ for range_ in pieces if _share(range_.size, total, at_least) == 1]
    rest = total - sum(range_.size for range_ in kept)
    parts = max(at_least - len(kept), 1)
    return [
        part
        for range_ in pieces
        for part in _cut(
            range_, 1 if range_.partition in whole else _share(range_.size, rest, parts)
        )
    ]


def _share(size: int, total: int, parts: int) -> int:
    # Java's Math.round: halves go up, where Python's round takes the even one.
    return max(math.floor(size / total * parts + 0.5), 1)


def _cut(range_: OffsetRange, parts: int) -> list[OffsetRange]:
    cut: list[OffsetRange] = []
    rest, start = range_.size, range_.start
    for part in range(parts):
        size = rest // (parts - part)
        rest -= size
        if size > 0:
            cut.append(
                OffsetRange(
                    partition=range_.partition,
                    start=start,
                    stop=start + size,
                    from_earliest=range_.from_earliest and start == range_.start,
                )
            )
        start += size
    return cut
