"""Registers `format("trio-kafka-log")`: Spark imports packages named `pyspark_*` by itself."""

from trio_kafka_spark.log.reader import LogSource as DefaultSource

__all__ = ["DefaultSource"]
