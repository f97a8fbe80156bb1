"""The tasks of a read: which offsets of which partitions, for a batch and for one micro-batch.

A planned range travels to executors and holds nothing but topic, partition and offsets.
"""

from collections.abc import Iterable

from pyspark.sql.datasource import InputPartition

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.filters import Bounds
from trio_kafka_spark.source.loss import (
    ADDED_LATE,
    CHANGED,
    DELETED,
    DELETED_WITH_GROUP,
    INITIAL_NOT_FOUND,
    LossPolicy,
)
from trio_kafka_spark.source.offsets import EARLIEST, LATEST, Offsets, listed
from trio_kafka_spark.source.options import ReadOptions
from trio_kafka_spark.source.ranges import OffsetRange, split
from trio_kafka_spark.source.resolve import Resolver


class TopicRange(InputPartition):
    """Part of one partition, which one task reads."""

    def __init__(self, planned: OffsetRange) -> None:
        self.topic = planned.partition.topic
        self.partition = planned.partition.partition
        self.start = planned.start
        self.stop = planned.stop
        self.from_earliest = planned.from_earliest


def plan_batch(resolver: Resolver, bounds: Bounds) -> list[OffsetRange]:
    """Return the tasks of a batch: from its start to its end as they are now.

    Raises SourceError RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET, and what Resolver raises.
    """
    options = resolver.options
    starts = resolver.position(options.start, starting=True)
    ends = resolver.position(options.end, starting=False)
    if starts.keys() != ends.keys():
        raise SourceError(
            "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET",
            f"partitions were {listed(starts)} for the start and {listed(ends)} for the end; run "
            "the query again when no topic is created or deleted",
        )
    chosen = [tp for tp in sorted(starts) if bounds.admits(tp)]
    first = resolver.resolved({tp: starts[tp] for tp in chosen})
    last = resolver.resolved({tp: ends[tp] for tp in chosen})
    for tp in chosen:
        if first[tp] > last[tp]:
            raise SourceError(
                "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET",
                f"{tp} starts at offset {first[tp]}, which is above its end {last[tp]}; correct "
                "the starting or the ending option, or see whether the topic was created again",
            )
    since = _since(resolver, bounds, [tp for tp in chosen if ends[tp] == LATEST])
    ranges = []
    for tp in chosen:
        late = since.get(tp, 0)
        start = max(first[tp], bounds.start, last[tp] if late < 0 else late)
        ranges.append(
            OffsetRange(
                partition=tp,
                start=start,
                stop=min(last[tp], bounds.stop),
                from_earliest=starts[tp] == EARLIEST and start == first[tp],
            )
        )
    return _split(options, ranges)


def _since(resolver: Resolver, bounds: Bounds, open_ended: Iterable[TopicPartition]) -> Offsets:
    # Only where the end was what is there now: an end of the options may lie in the future.
    return resolver.since(open_ended, bounds.since_ms) if bounds.since_ms > 0 else {}


def plan_stream(
    resolver: Resolver, loss: LossPolicy, *, start: Offsets, end: Offsets
) -> list[OffsetRange]:
    """Return the tasks of a micro-batch; new partitions begin with their earliest record.

    Reports data loss for partitions that are gone, went back, or lost their first records.
    """
    new = end.keys() - start.keys()
    initial = resolver.earliest(new)
    if initial.keys() != new:
        loss.report(
            INITIAL_NOT_FOUND,
            f"new partitions {listed(new - initial.keys())} have no first offset any more",
        )
    for tp in sorted(initial):
        if initial[tp] != 0:
            loss.report(ADDED_LATE, f"new partition {tp} starts at {initial[tp]} instead of 0")
    gone = start.keys() - end.keys()
    if gone:
        group = resolver.options.group_id
        advice = (
            ""
            if group is None
            else f"; option kafka.group.id={group} is set, and another reader of that group may "
            "have been given them"
        )
        loss.report(
            DELETED if group is None else DELETED_WITH_GROUP,
            f"partitions {listed(gone)} were deleted{advice}",
        )
    starts = {**start, **initial}
    ranges = []
    for tp in sorted(end):
        if tp not in starts:
            continue
        if end[tp] < starts[tp]:
            loss.report(CHANGED, f"the end of {tp} went back from {starts[tp]} to {end[tp]}")
        ranges.append(OffsetRange(partition=tp, start=starts[tp], stop=end[tp]))
    return _split(resolver.options, ranges)


def _split(options: ReadOptions, ranges: list[OffsetRange]) -> list[OffsetRange]:
    return split(
        ranges, at_least=options.min_partitions, records_each=options.max_records_per_partition
    )
