"""Spread the records of a topic over another number of partitions, as a producer would by key.

Kafka can add partitions to a topic, but leaves old records where they are, and keys then live in
two places. This writes a topic anew, with every key in one partition and its records in order.
"""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from trio_kafka_spark.jobs.restore import for_sink
from trio_kafka_spark.sink.partitioner import key_partitions


def repartition(records: DataFrame, partitions: int, topic: str | None = None) -> DataFrame:
    """Return records with their new partitions, in an order that keeps the order of each key.

    records: rows with topic, partition, offset, key, value, timestamp, and headers if there are
        any. partitions: how many the new topic has. topic: its name; None: the column keeps its
        own, so write to another cluster.
    Columns: those of `restore`. The partition of a key is that of Kafka's default partitioner
    (murmur2); records without a key are dealt out by offset.
    """
    if partitions < 1:
        raise ValueError(f"{partitions} partitions: want at least 1")
    moved = records.withColumn("source_partition", sf.col("partition")).withColumn(
        "partition",
        sf.coalesce(
            _partition(partitions),
            sf.pmod(sf.col("offset"), sf.lit(partitions)).cast("int"),
        ),
    )
    # A key's old records are in one partition: order by offset is their order.
    ordered = moved.repartition("topic", "partition").sortWithinPartitions(
        "topic", "partition", "offset", "source_partition"
    )
    return for_sink(ordered, topic)


def _partition(partitions: int) -> Column:
    def partition_of(key: pa.Array) -> pa.Array:
        return partitions_of_keys(key, partitions)

    # The stubs want the default of `functionType` to be given.
    partition: Column = arrow_udf(partition_of, "int")("key")  # type: ignore[call-overload]
    return partition


def partitions_of_keys(keys: pa.Array, partitions: int) -> pa.Array:
    """Return the partition of each key, null for a null."""
    null = keys.is_null().to_numpy(zero_copy_only=False)
    return pa.array(key_partitions(keys, partitions).astype("int32"), mask=null)
