"""Uneven load: partitions that hold more than their share, and keys that do."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf


def skew_of_partitions(segments: DataFrame) -> DataFrame:
    """Return one row a partition, the fullest of each topic first.

    segments: rows of view=segments, from all log directories of the topic: a partition that is
        elsewhere does not count.
    Columns: topic, partition, records, bytes (compressed), bytes_percent (of the topic), ratio
    (bytes over the mean of the topic's partitions; 1.0 is even).
    """
    of_topic = Window.partitionBy("topic")
    total, mean = sf.sum("bytes").over(of_topic), sf.avg("bytes").over(of_topic)
    return (
        segments.groupBy("topic", "partition")
        .agg(sf.sum("records").alias("records"), sf.sum("whole_size").alias("bytes"))
        .withColumn("bytes_percent", sf.round(_share(sf.col("bytes") * 100, total), 2))
        .withColumn("ratio", sf.round(_share(sf.col("bytes"), mean), 3))
        .orderBy("topic", sf.desc("bytes"), "partition")
    )


def skew_of_keys(records: DataFrame, most: int = 20) -> DataFrame:
    """Return the `most` keys of each topic with the most records, the most frequent first.

    records: rows with topic, partition, key and value.
    Columns: topic; key (binary, null for records without one), partitions (how many hold it; more
    than one: it is not partitioned by key), records, bytes (of keys and values, uncompressed),
    records_percent (of the topic).
    """
    total = sf.sum("records").over(Window.partitionBy("topic"))
    place = sf.row_number().over(
        Window.partitionBy("topic").orderBy(sf.desc("records"), sf.desc("bytes"), "key")
    )
    return (
        records.groupBy("topic", "key")
        .agg(
            sf.countDistinct("partition").alias("partitions"),
            sf.count("*").alias("records"),
            sf.sum(size_of_record()).alias("bytes"),
        )
        .withColumn("records_percent", sf.round(_share(sf.col("records") * 100, total), 2))
        .withColumn("place", place)
        .where(sf.col("place") <= most)
        .orderBy("topic", "place")
        .drop("place")
    )


def size_of_record() -> Column:
    """Return the bytes of a record's key and value."""
    return sum(
        (sf.coalesce(sf.octet_length(name), sf.lit(0)) for name in ("key", "value")),
        start=sf.lit(0),
    ).cast("bigint")


def _share(part: Column, whole: Column) -> Column:
    """Return a quotient; 0 where nothing is stored."""
    return sf.when(whole > 0, part / whole).otherwise(sf.lit(0.0))
