"""Estimate what compaction would remove: records whose key has a later record, and old tombstones.

Source: Kafka's log cleaner: the active segment is not cleaned, and a record without a key is
removed when its segment is. Not modelled: `min.cleanable.dirty.ratio`, `min.compaction.lag.ms` and
transactions; a tombstone counts as kept until `delete_retention_ms` after the newest record.
"""

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

from trio_kafka_spark.jobs.skew import size_of_record

_DAY_MS: Final = 86_400_000


def compaction_what_if(
    records: DataFrame, active: DataFrame | None = None, delete_retention_ms: int = _DAY_MS
) -> DataFrame:
    """Return one row a partition, the one that would shrink most first.

    records: rows with topic, partition, offset, timestamp, key and value. active: rows with topic,
        partition and base_offset of active segments (view=segments), whose records are not cleaned;
        None: all records are. delete_retention_ms: `delete.retention.ms` of the topic.
    Columns: topic, partition; records, bytes: of keys and values that can be cleaned; keys
    (distinct); removed_records, removed_bytes, removed_percent (of the bytes); tombstones (kept and
    removed); without_key (records that have none, all removed); not_cleaned (records in the active
    segment).
    """
    if active is not None:
        bases = active.groupBy("topic", "partition").agg(sf.max("base_offset").alias("until"))
        records = records.join(sf.broadcast(bases), ["topic", "partition"], "left")
    else:
        records = records.withColumn("until", sf.lit(None).cast("bigint"))
    cleaned = sf.col("until").isNull() | (sf.col("offset") < sf.col("until"))
    of_key = Window.partitionBy("topic", "partition", "key", "cleaned")
    of_partition = Window.partitionBy("topic", "partition")
    age_ms = sf.unix_millis(sf.max("timestamp").over(of_partition)) - sf.unix_millis("timestamp")
    tombstone = sf.col("value").isNull() & sf.col("key").isNotNull()
    removed = (
        sf.col("key").isNull()
        | (sf.col("offset") < sf.max("offset").over(of_key))
        | (tombstone & (age_ms > delete_retention_ms))
    )
    sized = records.select(
        "topic",
        "partition",
        "key",
        "offset",
        "timestamp",
        "value",
        cleaned.alias("cleaned"),
        size_of_record().alias("bytes"),
    )
    judged = sized.select(
        "topic",
        "partition",
        "key",
        "cleaned",
        "bytes",
        (removed & sf.col("cleaned")).alias("removed"),
        tombstone.alias("tombstone"),
    )
    inside = sf.col("cleaned")
    removed_bytes = sf.sum(sf.when(sf.col("removed"), sf.col("bytes")).otherwise(0))
    bytes_ = sf.sum(sf.when(inside, sf.col("bytes")).otherwise(0))
    return (
        judged.groupBy("topic", "partition")
        .agg(
            sf.count_if(inside).alias("records"),
            bytes_.alias("bytes"),
            sf.countDistinct(sf.when(inside, sf.col("key"))).alias("keys"),
            sf.count_if("removed").alias("removed_records"),
            removed_bytes.alias("removed_bytes"),
            sf.round(sf.when(bytes_ > 0, removed_bytes * 100 / bytes_).otherwise(0.0), 2).alias(
                "removed_percent"
            ),
            sf.count_if(inside & sf.col("tombstone")).alias("tombstones"),
            sf.count_if(inside & sf.col("key").isNull()).alias("without_key"),
            sf.count_if(~inside).alias("not_cleaned"),
        )
        .orderBy(sf.desc("removed_bytes"), "topic", "partition")
    )
