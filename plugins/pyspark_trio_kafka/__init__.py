"""Registers `format("trio-kafka")`: Spark imports packages named `pyspark_*` by itself."""
