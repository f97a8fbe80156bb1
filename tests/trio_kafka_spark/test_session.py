import sys
from typing import TYPE_CHECKING

import pyspark
import pytest
from confluent_kafka import Producer

from trio_kafka.testing.processes import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_workers_run_this_interpreter_with_the_installed_pyspark(
    spark: "SparkSession",
) -> None:
    def running(_: int) -> tuple[str, str]:
        return sys.executable, pyspark.__file__

    result = spark.sparkContext.parallelize([0], 1).map(running).collect()

    assert result == [(sys.executable, pyspark.__file__)]


def test_an_active_session_is_returned_unchanged(spark: "SparkSession") -> None:
    from trio_kafka_spark.session import session

    assert session("another", settings={"spark.sql.shuffle.partitions": 9}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def test_explicit_settings_override_the_defaults_of_a_session(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.driver.memory") == "900m"  # conftest's; 1g by default


def test_the_spark_driver_listens_only_on_the_loopback_address(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_the_official_connector_reads_this_broker(
    spark: "SparkSession", shared_broker: BrokerProcess
) -> None:
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    for number in range(10):
        producer.produce("official-1", str(number).encode(), partition=0)
    assert producer.flush(20) == 0

    rows = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", shared_broker.bootstrap)
        .option("subscribe", "official-1")
        .load()
        .collect()
    )

    assert sorted(int(row["value"]) for row in rows) == list(range(10))
