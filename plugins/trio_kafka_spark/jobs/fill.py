"""Fill of batches and savings of compression: do `linger.ms` and codec fit the topic?"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf


def batch_fill(batches: DataFrame) -> DataFrame:
    """Return one row a topic and codec, the one with most bytes first.

    batches: rows of view=batches with `uncompressed=true`; control batches are left out.
    Columns: topic, codec; batches, records: counts; bytes: on disk; uncompressed_bytes: the same
    batches without compression; ratio (uncompressed over compressed; 1.0: nothing saved),
    records_per_batch, bytes_per_batch: means; batch_bytes_p50, batch_bytes_p95: on disk;
    single_record_percent: batches with one record, which cost a header of 61 bytes each.
    """
    count = sf.count("*")
    return (
        batches.where("not control")
        .groupBy("topic", "codec")
        .agg(
            count.alias("batches"),
            sf.sum("count").alias("records"),
            sf.sum("size").alias("bytes"),
            sf.sum("uncompressed_size").alias("uncompressed_bytes"),
            sf.round(
                sf.sum("uncompressed_size")
                / sf.sum(sf.when(sf.col("uncompressed_size").isNotNull(), sf.col("size"))),
                3,
            ).alias("ratio"),
            sf.round(sf.avg("count"), 2).alias("records_per_batch"),
            sf.round(sf.avg("size"), 1).alias("bytes_per_batch"),
            sf.percentile_approx("size", 0.5).alias("batch_bytes_p50"),
            sf.percentile_approx("size", 0.95).alias("batch_bytes_p95"),
            sf.round(sf.count_if(sf.col("count") == 1) * 100 / count, 2).alias(
                "single_record_percent"
            ),
        )
        .orderBy(sf.desc("bytes"), "topic", "codec")
    )
