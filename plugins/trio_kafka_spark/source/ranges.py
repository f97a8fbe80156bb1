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
    found = [one for one in ranges if one.size > 0]
    if records_each is not None:
        found = [
            part for one in found for part in _cut(one, math.ceil(one.size / float(records_each)))
        ]
    if at_least is None or len(found) >= at_least:
        return found
    total = sum(one.size for one in found)
    whole = {one.partition for one in found if _share(one.size, total, at_least) == 1}
    kept = [one for one in found if _share(one.size, total, at_least) == 1]
    left = total - sum(one.size for one in kept)
    wanted = max(at_least - len(kept), 1)
    return [
        part
        for one in found
        for part in _cut(one, 1 if one.partition in whole else _share(one.size, left, wanted))
    ]


def _share(size: int, total: int, wanted: int) -> int:
    # Java's Math.round: halves go up, where Python's round takes the even one.
    return max(math.floor(size / total * wanted + 0.5), 1)


def _cut(one: OffsetRange, parts: int) -> list[OffsetRange]:
    cut: list[OffsetRange] = []
    left, start = one.size, one.start
    for part in range(parts):
        size = left // (parts - part)
        left -= size
        if size > 0:
            cut.append(
                OffsetRange(
                    partition=one.partition,
                    start=start,
                    stop=start + size,
                    from_earliest=one.from_earliest and start == one.start,
                )
            )
        start += size
    return cut
