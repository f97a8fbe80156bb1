"""A Spark session for all tests; the broker is the fixture `kafka` of trio-kafka's test kit."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from trio_kafka_spark.session import session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark session of two threads, with its files in a temporary directory."""
    files = tmp_path_factory.mktemp("spark")
    spark_session = session(
        "tests", settings={"spark.local.dir": files, "spark.sql.warehouse.dir": files / "tables"}
    )
    yield spark_session
    spark_session.stop()
