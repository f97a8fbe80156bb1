"""Put records back where they were: the same partitions, in the same order, with their times."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

# Columns for `format("trio-kafka")`; `timestamp` needs its option timestampColumn.
WRITTEN: Final = ("topic", "partition", "key", "value", "headers", "timestamp")
_PLACE: Final = ("topic", "partition")


def restore(records: DataFrame, topic: str | None = None) -> DataFrame:
    """Return records to be written into the partitions that they came from, in order of offset.

    records: rows with topic, partition, offset, key, value, timestamp, and headers if there are
        any: from log directories, a topic, or a table that was made of one. topic: where they go;
        None: to the topic of the same name. It must have as many partitions as the old one.
    Columns: WRITTEN, without headers if there are none. Offsets of the new records differ where old
    ones have gaps.
    """
    ordered = records.repartition(*_PLACE).sortWithinPartitions(*_PLACE, "offset")
    return for_sink(ordered, topic)


def for_sink(records: DataFrame, topic: str | None) -> DataFrame:
    """Return the columns of WRITTEN that there are, in this topic."""
    if topic is not None:
        records = records.withColumn("topic", sf.lit(topic))
    return records.select(*(name for name in WRITTEN if name in records.columns))
