"""Bytes and records that each topic stores and that each client requests."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf


def usage_by_topic(segments: DataFrame) -> DataFrame:
    """Return one row a topic, the largest first.

    segments: rows of view=segments.
    Columns: topic; partitions, segments, batches, records: counts (control batches count);
    bytes: whole batches on disk, compressed; index_bytes; first_timestamp, last_timestamp.
    """
    index_bytes = sum(
        (sf.coalesce(sf.col(name), sf.lit(0)) for name in _INDEXES), start=sf.lit(0)
    ).cast("bigint")
    return (
        segments.groupBy("topic")
        .agg(
            sf.countDistinct("partition").alias("partitions"),
            sf.count("*").alias("segments"),
            sf.sum("batches").alias("batches"),
            sf.sum("records").alias("records"),
            sf.sum("whole_size").alias("bytes"),
            sf.sum(index_bytes).alias("index_bytes"),
            sf.min("min_timestamp").alias("first_timestamp"),
            sf.max("max_timestamp").alias("last_timestamp"),
        )
        .orderBy(sf.desc("bytes"), "topic")
    )


def usage_by_client(requests: DataFrame) -> DataFrame:
    """Return one row a client and API, the one with most bytes first.

    requests: rows of `request_log.parsed`.
    Columns: client_id, api; requests, errors: counts; request_bytes, response_bytes, bytes: sums on
    the wire; total_ms: time that the broker spent on them, in ms.
    """
    return (
        requests.groupBy("client_id", "api")
        .agg(
            sf.count("*").alias("requests"),
            sf.count_if(sf.col("error_code") != 0).alias("errors"),
            sf.sum("request_bytes").alias("request_bytes"),
            sf.sum("response_bytes").alias("response_bytes"),
            sf.sum(sf.col("request_bytes") + sf.col("response_bytes")).alias("bytes"),
            sf.round(sf.sum("total_ms"), 3).alias("total_ms"),
        )
        .orderBy(sf.desc("bytes"), "client_id", "api")
    )


_INDEXES = ("index_size", "time_index_size", "transaction_index_size")
