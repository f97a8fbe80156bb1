"""A Spark session with defaults that suit one machine, found with nothing but pip installed.

On a cluster the same program runs unchanged: settings given by `spark-submit`, by a configuration
file or by the caller win over the ones here, and an active session is returned as it is.
"""

import os
import sys
from collections.abc import Mapping
from typing import Final

from pyspark.sql import SparkSession

from trio_kafka_spark import posting, python
from trio_kafka_spark.java import java_home

LOCAL: Final = "local[2]"
# Batches of 10,000 to 50,000 rows cost least between Python and the JVM (docs/design/spark.md).
_EVERYWHERE: Final[Mapping[str, str]] = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.python.filterPushdown.enabled": "true",
}
_ON_ONE_MACHINE: Final[Mapping[str, str]] = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(
    name: str = "trio-kafka",
    *,
    master: str | None = None,
    settings: Mapping[str, object] | None = None,
) -> SparkSession:
    """Return the active Spark session, or a new one.

    master: for example `local[4]` or `spark://host:7077`; None: the one that `spark-submit` gave,
        or two threads on this machine. settings: Spark's own, by name; they win over all others.
    Workers run the interpreter that runs this program, unless PYSPARK_PYTHON names another one.
    On this machine they import pyspark as it is installed, and not from Spark's archive.
    Raises JavaError if no Java is found. In a child of the plugin `pipelines`, all streams post
    their progress to the broker.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        _post_progress(active)
        return active
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # by spark-submit, which has the settings
    local = not submitted and (master or LOCAL).startswith("local")
    if submitted:
        os.environ.setdefault(python.VARIABLE, sys.executable)
    else:
        os.environ[python.VARIABLE] = python.worker_python(os.environ, local=local)
    home = java_home()
    if home is not None:
        os.environ["JAVA_HOME"] = home
    spark = _built(name, master, settings or {}, submitted=submitted, local=local)
    _post_progress(spark)
    return spark


def _post_progress(spark: SparkSession) -> None:
    """Post the progress of streams where this program is a child of the plugin `pipelines`."""
    if posting.URL in os.environ:
        from trio_kafka_spark.progress import post_progress  # noqa: PLC0415 - few are children

        post_progress(spark)


def _built(
    name: str,
    master: str | None,
    settings: Mapping[str, object],
    *,
    submitted: bool,
    local: bool,
) -> SparkSession:
    defaults = dict(_EVERYWHERE)
    builder = SparkSession.builder.appName(name)
    if not submitted:
        builder = builder.master(master or LOCAL)
        if local:
            defaults.update(_ON_ONE_MACHINE)
    elif master is not None:
        builder = builder.master(master)
    if submitted:
        from pyspark import SparkConf  # noqa: PLC0415 - it starts the gateway's JVM

        submitted_settings = SparkConf()
        defaults = {
            key: value for key, value in defaults.items() if not submitted_settings.contains(key)
        }
    for key, value in {**defaults, **settings}.items():
        builder = builder.config(key, str(value))
    return builder.getOrCreate()
