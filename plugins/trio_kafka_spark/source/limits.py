"""Limits of one micro-batch: maxOffsetsPerTrigger, minOffsetsPerTrigger, maxTriggerDelay.

Spark's Python API has no limit that combines the three, so they are kept here. Spark still decides
when it asks for everything at once (a trigger that runs once).
"""

import math
import time
from collections.abc import Callable, Mapping

from trio_kafka.attributes import define
from trio_kafka.model import TopicPartition
from trio_kafka_spark.source.offsets import Offsets

_HIGHEST = 2**63 - 1


@define(kw_only=True)
class TriggerLimits:
    """Decision of one stream, batch by batch. Times are those of `now`, in seconds.

    The first batch never waits for the minimum, nor does any after `delay_s`.
    """

    most: int | None = None
    least: int | None = None
    delay_s: float = 900.0
    now: Callable[[], float] = time.monotonic
    last_trigger: float | None = None

    def end(self, start: Offsets, latest: Offsets, earliest: Offsets, *, ending: bool) -> Offsets:
        """Return the offsets at which the next batch ends; `start` itself: wait for more records.

        start: where the batch begins. latest: the ends of the assigned partitions. earliest: the
        first offsets of those that `start` lacks, as they are new.
        ending: the stream ends with what is there (AvailableNow), so that nothing waits for more.
        """
        if self.least is not None and not ending and self._waits(start, latest):
            return start
        if self.most is None:
            return latest
        return limited(self.most, {**earliest, **start}, latest)

    def _waits(self, start: Offsets, latest: Offsets) -> bool:
        now = self.now()
        due = self.last_trigger is None or now - self.last_trigger >= self.delay_s
        arrived = sum(offset - start.get(tp, 0) for tp, offset in latest.items())
        if not due and self.least is not None and arrived < self.least:
            return True
        self.last_trigger = now
        return False


def limited(
    most: int, start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]
) -> Offsets:
    """Return ends that take about `most` offsets in all, shared in proportion to what is there.

    A partition with anything to read advances by at least one offset, so the sum may be larger.
    """
    sizes = {tp: end - start[tp] for tp, end in latest.items() if tp in start and end > start[tp]}
    total = sum(sizes.values())
    if total < 1:
        return dict(latest)
    ends = dict(latest)
    for tp, size in sizes.items():
        share = most * (size / total)
        taken = math.ceil(share) if share < 1 else math.floor(share)
        ends[tp] = min(latest[tp], start[tp] + taken, _HIGHEST)
    return ends
