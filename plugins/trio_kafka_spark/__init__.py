"""Topics as Spark tables and streams: sources, sinks, tables, jobs and pipelines.

The only package that imports pyspark, besides `pyspark_trio_kafka` and `pyspark_trio_kafka_log`, by
which Spark finds its two formats. Trio never runs in a worker of Spark.
"""
