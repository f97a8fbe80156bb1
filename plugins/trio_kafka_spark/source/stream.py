"""Streams: where the next micro-batch ends, and its tasks. Spark keeps one such reader for a query.

Offsets are the connector's JSON, so that a checkpoint outlives a change of the format's name. The
reader is created again for `read`, in workers, which use the options alone.

As long as no batch is committed, Spark asks each new reader for the beginning of the stream, while
the end of the first batch comes from the checkpoint. So that end holds the beginning too, and
`partitions` reads from there: otherwise a first batch that failed would begin somewhere else at the
next start, and records would be lost, or seem to be.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.limits import TriggerLimits
from trio_kafka_spark.source.loss import LossPolicy
from trio_kafka_spark.source.offsets import (
    Offsets,
    as_json,
    beginning_in,
    described,
    from_json,
    listed,
    with_beginning,
)
from trio_kafka_spark.source.options import ReadOptions
from trio_kafka_spark.source.plan import TopicRange, plan_stream
from trio_kafka_spark.source.resolve import Resolver

if TYPE_CHECKING:
    import pyarrow as pa

_AGAIN = "run the query again; if that fails too, see whether the topic was created again"


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streaming read of topics, in micro-batches of offset ranges."""

    def __init__(self, options: ReadOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self.columns = columns
        self._limits = TriggerLimits(
            most=options.max_offsets_per_trigger,
            least=options.min_offsets_per_trigger,
            delay_s=options.max_trigger_delay_s,
        )
        self._cluster: Cluster | None = None
        self._beginning: Offsets | None = None
        self._has_planned = False
        self._latest: Offsets = {}
        self._available_now = False
        self._target: Offsets | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Return where a stream without a committed batch starts; always the same of one reader."""
        if self._beginning is None:
            resolver = self._resolver()
            position = resolver.position(self.options.start, starting=True)
            self._beginning = resolver.resolved(position)
        return as_json(self._beginning)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Return the limit that Spark hands back; what it cannot say is kept in TriggerLimits."""
        if self._limits.most is not None:
            return ReadMaxRows(self._limits.most)
        if self._limits.least is not None:
            return ReadMinRows(self._limits.least)
        return ReadAllAvailable()

    def latestOffset(  # noqa: N802 - Spark's name
        self, start: dict[str, Any], limit: ReadLimit
    ) -> dict[str, Any]:
        """Return where the batch that begins at `start` ends; `start`: there is none now."""
        begin = from_json(start)
        end = self._end(begin, limit)
        if self._begins(start):
            return with_beginning(as_json(end), begin)
        # Spark compares texts, and the end of a first batch has more in it than offsets.
        return start if end == begin else as_json(end)

    def _begins(self, start: dict[str, object]) -> bool:
        """Return whether the batch from `start` on is the first one of the stream.

        A reader that has planned a batch may be at its own beginning by chance: after a first batch
        that failed, `latest` is resolved anew, and the next batch may end there.
        """
        has_begun = self._has_planned or self._beginning is None
        return not has_begun and start == self.initialOffset()

    def _end(self, begin: Offsets, limit: ReadLimit) -> Offsets:
        resolver = self._resolver()
        if self._target is None:
            self._latest = resolver.latest(begin)
            if self._available_now:
                self._target = self._latest
        if isinstance(limit, ReadAllAvailable):
            return self._latest
        earliest = resolver.earliest(self._latest.keys() - begin.keys())
        return self._limits.end(begin, self._latest, earliest, ending=self._available_now)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """Return the end of all partitions when they were last looked at, for progress reports."""
        return as_json(self._latest) if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End the stream with what the first call of latestOffset finds."""
        self._available_now = True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Return the tasks of one micro-batch."""
        self._has_planned = True
        resolver = self._resolver()
        begin, until = from_json(start), from_json(end)
        beginning = beginning_in(end)
        if beginning is not None and beginning_in(start) is None:
            begin = beginning
        if self._target is not None:
            self._check_target(resolver, self._target, until)
        loss = LossPolicy(self.options.fail_on_data_loss)
        planned = plan_stream(resolver, loss, start=begin, end=until)
        return [TopicRange(task) for task in planned]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """Yield the records of one task as Arrow batches."""
        if isinstance(partition, TopicRange):
            from trio_kafka_spark.source.reading import (  # noqa: PLC0415 - in workers alone
                read_range,
            )

            yield from read_range(self.options, self.columns, partition)

    def commit(self, end: dict[str, object]) -> None:
        """Do nothing: the checkpoint holds the offsets, and no consumer group does."""

    def stop(self) -> None:
        """Close the connections to the brokers."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    def _resolver(self) -> Resolver:
        if self._cluster is None:
            self._cluster = Cluster(self.options.client)
        return Resolver(options=self.options, cluster=self._cluster)

    @staticmethod
    def _check_target(resolver: Resolver, target: Offsets, end: Offsets) -> None:
        """Raise SourceError unless the batch ends within the target, which still exists."""
        if end.keys() != target.keys():
            raise SourceError(
                "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED",
                f"the batch ends with partitions {listed(end)}, but the query started with "
                f"{listed(target)}; {_AGAIN}",
            )
        if any(end[tp] > target[tp] for tp in end):
            raise SourceError(
                "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED",
                f"the batch ends at {described(end)}, beyond {described(target)}, where the query "
                f"ends; {_AGAIN}",
            )
        latest = resolver.latest(end)
        if not end.keys() <= latest.keys():
            raise SourceError(
                "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW",
                f"partitions {listed(end.keys() - latest.keys())} were deleted while the query "
                f"ran; {_AGAIN}",
            )
        if any(end[tp] > latest[tp] for tp in end):
            raise SourceError(
                "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_"
                "AVAILABLENOW",
                f"the batch ends at {described(end)}, but the partitions end at "
                f"{described(latest)}; {_AGAIN}",
            )
