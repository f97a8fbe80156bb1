"""Work of one task: fetch the batches of one range, and decode them to Arrow as they come.

The next fetch is in flight while one is decoded. Offsets that the partition does not hold are data
loss, except before the earliest record of a range that starts there.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import attrs

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.errors import (
    CORRUPT,
    TIMED_OUT,
    OffsetOutOfRangeError,
    SourceError,
)
from trio_kafka_spark.client.fetch import fetch
from trio_kafka_spark.source.loss import LossPolicy
from trio_kafka_spark.source.offsets import EARLIEST, LATEST
from trio_kafka_spark.source.options import ReadOptions
from trio_kafka_spark.source.plan import TopicRange

if TYPE_CHECKING:
    import pyarrow as pa

# Batches of 10,000 to 50,000 rows cost least between Python and the JVM (docs/design/spark.md).
ROWS: Final = 20_000


def read_range(
    options: ReadOptions, columns: tuple[str, ...], planned: TopicRange
) -> Iterator["pa.RecordBatch"]:
    """Yield the records of a range, in order of offset.

    Raises SourceError: data loss where it is not allowed, a broker that does not answer, or records
    that are damaged.
    """
    reader = _RangeReader(
        options=options,
        columns=columns,
        partition=TopicPartition(planned.topic, planned.partition),
        at=planned.start,
        stop=planned.stop,
        earliest_at=planned.start if planned.from_earliest else None,
    )
    return reader.run()


@define(kw_only=True)
class _RangeReader:
    """One task: everything before offset `at` is read, or known to be gone."""

    options: ReadOptions
    columns: tuple[str, ...]
    partition: TopicPartition
    at: int
    stop: int
    earliest_at: int | None

    def run(self) -> Iterator["pa.RecordBatch"]:
        while self.at < self.stop:
            try:
                yield from self._fetched()
            except OffsetOutOfRangeError as error:
                self._skip(error.offset, error.log_start, error.high_watermark)
            except SourceError as error:
                if error.condition != TIMED_OUT:
                    raise
                self._skip_missing(error)

    def _fetched(self) -> Iterator["pa.RecordBatch"]:
        from trio_kafka.records.columnar import decode  # noqa: PLC0415 - numpy, in workers alone

        for fetched in fetch(self.options.client, self.partition, start=self.at, stop=self.stop):
            try:
                for batch in decode(
                    fetched.buffer,
                    at=self.partition,
                    start=self.at,
                    stop=self.stop,
                    columns=self.columns,
                    aborted=fetched.aborted,
                    check_crcs=self.options.client.check_crcs,
                    rows=ROWS,
                ):
                    self._check_times(batch)
                    yield batch
            except KafkaError as error:
                raise SourceError(
                    CORRUPT,
                    f"records of {self.partition} between offsets {self.at} and "
                    f"{fetched.next_offset}: {error}",
                ) from error
            self.at = fetched.next_offset

    def _check_times(self, batch: "pa.RecordBatch") -> None:
        """Raise SourceError for a time that Spark cannot hold; the decoder leaves it null."""
        if "timestamp" not in self.columns or not batch.column("timestamp").null_count:
            return
        where = f"a record of {self.partition} at or after offset {self.at}"
        if "offset" in self.columns:
            bad = batch.filter(batch.column("timestamp").is_null())
            where = f"the record of {self.partition} at offset {bad.column('offset')[0].as_py()}"
        raise SourceError(
            "KAFKA_MALFORMED_RECORD_TIMESTAMP",
            f"{where} has a timestamp beyond the year 294247; expected milliseconds since 1970, "
            "not micro- or nanoseconds: correct the producer, or leave the column timestamp out "
            "by .schema(...)",
        )

    def _skip_missing(self, error: SourceError) -> None:
        """Report data loss if the partition ends before `at`; else raise the time-out itself.

        Records behind an open transaction are not lost, so the end is the uncommitted one.
        """
        with Cluster(attrs.evolve(self.options.client, read_committed=False)) as cluster:
            first = cluster.offsets({self.partition: EARLIEST})[self.partition]
            last = cluster.offsets({self.partition: LATEST})[self.partition]
        if first <= self.at < last:
            raise error
        self._skip(self.at, first, last)

    def _skip(self, offset: int, first: int, last: int) -> None:
        """Report offsets that are gone, and go on with the first that is there."""
        held = f"offsets {first} to {last}"
        loss = LossPolicy(self.options.fail_on_data_loss)
        if offset >= first:
            loss.not_read(self.partition, start=offset, stop=self.stop, held=held)
            self.at = self.stop
            return
        if offset != self.earliest_at:
            loss.not_read(self.partition, start=offset, stop=min(first, self.stop), held=held)
        self.at = first
