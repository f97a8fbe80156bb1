"""Consumer lag over time: committed offsets against the end of the log.

Commits come from `__consumer_offsets`, where the broker stores them whatever client sends them and
whether or not requests are logged; its records carry the time of each commit. Ends come from batch
headers, so no record of the topic is decoded: the end at a time is behind the last batch whose
largest timestamp is not later. With create times that is the producers' clock.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.groups.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka_spark.log.schemas import ddl

OFFSETS_TOPIC: Final = "__consumer_offsets"
COMMITS: Final = pa.schema(
    [
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("offset", pa.int64()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed", pa.int64()),
    ]
)


def commits(records: DataFrame) -> DataFrame:
    """Return one row a committed offset; deleted ones have a null.

    records: rows of the topic `__consumer_offsets`, with timestamp, offset, key and value; records
        that are no commits are left out.
    Columns: timestamp, offset (of the commit itself), group, topic, partition, committed (the next
    offset to be read).
    """
    return records.select("timestamp", "offset", "key", "value").mapInArrow(
        decoded_commits, ddl(COMMITS)
    )


def decoded_commits(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the commits in batches of records."""
    for batch in batches:
        rows = []
        commits = []
        pairs = zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)
        for row, (key, value) in enumerate(pairs):
            commit = _commit(key, value)
            if commit is not None:
                rows.append(row)
                commits.append(commit)
        kept = batch.select(["timestamp", "offset"]).take(pa.array(rows, pa.int64()))
        fields = list(COMMITS)[len(kept.columns) :]
        columns = [list(column) for column in zip(*commits, strict=True)] or [[]] * len(fields)
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)
        ]
        yield pa.RecordBatch.from_arrays([*kept.columns, *arrays], schema=COMMITS)


def _commit(key: bytes | None, value: bytes | None) -> tuple[str, str, int, int | None] | None:
    """Return group, topic, partition and offset (None: deleted); None: another kind of record."""
    if key is None:
        return None
    try:
        record = GROUP_RECORDS.decode(key, value)
    except DecodeError:
        return None
    name, stored = record.key, record.value
    if not isinstance(name, OffsetCommitKey | LegacyOffsetCommitKey):
        return None
    offset = None
    if isinstance(stored, OffsetCommitValue | LegacyOffsetCommitValue):
        offset = stored.offset
    return name.group, name.topic, name.partition, offset


def lag_over_time(committed: DataFrame, batches: DataFrame, every: str = "1 minute") -> DataFrame:
    """Return one row a group, partition and interval, from the group's first commit on.

    committed: rows of `commits`. batches: rows of view=batches of the topics. every: a duration.
    Columns: time (begin of the interval), group, topic, partition; committed, end_offset: at its
    end; lag: records between them; null once the commit was deleted.
    """
    place = ["topic", "partition"]
    deleted = sf.coalesce("committed", sf.lit(_DELETED))
    by_group = committed.groupBy("group", *place, _start("timestamp", every)).agg(
        sf.max_by(deleted, sf.struct("timestamp", "offset")).alias("committed")
    )
    ends = (
        batches.where("max_timestamp is not null")
        .groupBy(*place, _start("max_timestamp", every))
        .agg((sf.max("last_offset") + 1).alias("end_offset"))
    )
    # Each group sees the ends of its partitions, and a group without a commit in an interval has
    # the one before: so both kinds of events are put into one order.
    groups = by_group.select("group", *place).distinct()
    events = ends.join(groups, place).unionByName(by_group, allowMissingColumns=True)
    so_far = (
        Window.partitionBy("group", *place)
        .orderBy("time")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    joined = (
        events.groupBy("group", *place, "time")
        .agg(sf.max("committed").alias("committed"), sf.max("end_offset").alias("end_offset"))
        .withColumn("committed", sf.last("committed", ignorenulls=True).over(so_far))
        .withColumn("end_offset", sf.max("end_offset").over(so_far))
        .where("committed is not null")
        .withColumn("committed", sf.nullif("committed", sf.lit(_DELETED)))
    )
    lag = sf.greatest(sf.col("end_offset") - sf.col("committed"), sf.lit(0))
    has_both = sf.col("end_offset").isNotNull() & sf.col("committed").isNotNull()
    return joined.select(
        "time", "group", *place, "committed", "end_offset", sf.when(has_both, lag).alias("lag")
    ).orderBy("group", *place, "time")


_DELETED: Final = -1


def _start(column: str, every: str) -> Column:
    return sf.window(column, every)["start"].alias("time")
