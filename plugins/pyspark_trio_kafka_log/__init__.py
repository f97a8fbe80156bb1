"""Registers `format("trio-kafka-log")`: Spark imports packages named `pyspark_*` by itself."""
