"""Replay records in order of time, at the speed at which they were written or another one.

One task writes them, so that the order between partitions is that of the timestamps. Within a
partition the order is that of the offsets, whatever the timestamps say. For a fixed rate, give
`speed=None` and let the sink limit it (`maxRecordsPerSecond`).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from trio_kafka_spark.jobs.restore import for_sink

DUE: Final = "due"  # µs since 1970: when the record was written, as far as order allows
_SMALLEST_SLEEP_S: Final = 0.02  # records that are due within it go together


def replay(
    records: DataFrame,
    topic: str | None = None,
    *,
    speed: float | None = 1.0,
    keep_partitions: bool = True,
) -> DataFrame:
    """Return records in order of time, each one not before it is due.

    records: as for `restore`. speed: 2.0 is twice as fast as the records were written; None: as
        fast as they are read. keep_partitions: false leaves the column partition out, and the sink
        partitions by key.
    Columns: those of `restore`. Time counts from the first record.
    """
    if speed is not None and not 0 < speed < float("inf"):
        raise ValueError(f"speed {speed}: want a number above 0")
    so_far = (
        Window.partitionBy("topic", "partition")
        .orderBy("offset")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    due = sf.max(sf.unix_micros("timestamp")).over(so_far)
    ordered = (
        records.withColumn(DUE, due)
        .coalesce(1)
        .sortWithinPartitions(DUE, "topic", "partition", "offset")
    )
    if speed is not None:
        ordered = ordered.mapInArrow(_Paced(speed), ordered.schema)
    chosen = for_sink(ordered, topic)
    return chosen if keep_partitions else chosen.drop("partition")


class _Paced:
    """Holds rows back until they are due; made on the driver, called in the one task."""

    def __init__(self, speed: float) -> None:
        self.speed = speed

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return paced(batches, self.speed)


def paced(
    batches: Iterable[pa.RecordBatch],
    speed: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[pa.RecordBatch]:
    """Yield rows when they are due: the column DUE, ascending, over `speed`, from the first row on.

    clock, sleep: seconds. Rows that are due together stay together.
    """
    first: int | None = None
    began = clock()
    for batch in batches:
        due = batch.column(DUE).to_numpy(zero_copy_only=False)
        if not len(due):
            continue
        first = int(due[0]) if first is None else first
        done = 0
        while done < len(due):
            passed = (clock() - began) * speed * 1e6
            ready = int(np.searchsorted(due, first + passed, side="right"))
            if ready > done:
                yield batch.slice(done, ready - done)
                done = ready
                continue
            wait_s = (int(due[done]) - first) / (speed * 1e6) - (clock() - began)
            sleep(max(wait_s, _SMALLEST_SLEEP_S))
