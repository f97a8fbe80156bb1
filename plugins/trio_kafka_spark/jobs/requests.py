"""Request analytics: counts, errors and latency of each API, client or listener."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from trio_kafka_spark.jobs.request_log import HOPS

BY: Final = ("api", "client_id", "listener", "principal", "software_name", "version", "error_code")
_ACCURACY: Final = 10_000
_PERCENTILES: Final = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}


def analyse(
    requests: DataFrame, by: Sequence[str] = ("api",), every: str | None = None
) -> DataFrame:
    """Return one row a group of requests, the one that took most time in all first.

    requests: rows of `request_log.parsed`. by: columns of BY. every: a duration such as
        `1 minute`: one row for each of these, too, in the column `time`, and in order of time.
    Columns: those of `by`; requests, errors: counts; errors_percent; request_bytes,
    response_bytes: means; total_ms: sum; p50_ms, p95_ms, p99_ms, max_ms of the total time, and the
    mean of each hop in ms.
    """
    unknown = set(by) - set(BY)
    if unknown:
        raise ValueError(f"requests by {', '.join(sorted(unknown))}: want some of {', '.join(BY)}")
    names = list(by)
    if every is not None:
        requests = requests.withColumn("time", sf.window("timestamp", every)["start"])
        names = ["time", *names]
    errors = sf.count_if(sf.col("error_code") != 0)
    return (
        requests.groupBy(*names)
        .agg(
            sf.count("*").alias("requests"),
            errors.alias("errors"),
            sf.round(errors * 100 / sf.count("*"), 2).alias("errors_percent"),
            sf.round(sf.avg("request_bytes"), 1).alias("request_bytes"),
            sf.round(sf.avg("response_bytes"), 1).alias("response_bytes"),
            sf.round(sf.sum("total_ms"), 3).alias("total_ms"),
            *(
                sf.percentile_approx("total_ms", share, _ACCURACY).alias(name)
                for name, share in _PERCENTILES.items()
            ),
            sf.max("total_ms").alias("max_ms"),
            *(sf.round(sf.avg(name), 3).alias(name) for name in HOPS),
        )
        .orderBy(*(["time"] if every else []), sf.desc("total_ms"), *by)
    )
