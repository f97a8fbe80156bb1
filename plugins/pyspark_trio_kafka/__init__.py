"""Registers `format("trio-kafka")`: Spark imports packages named `pyspark_*` by itself."""

from trio_kafka_spark.data_source import TrioKafkaDataSource as DefaultSource

__all__ = ["DefaultSource"]
