"""Declarative pipelines on Spark: a template to begin with, and a run of one.

One line for each command `trio-kafka pipeline NAME`; see `trio_kafka_spark.cli.spark`.
"""

from collections.abc import Mapping
from typing import Final

INSTALL: Final = "trio-kafka[spark]"
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "init": ("trio_kafka_spark.pipeline.init:init", "Write a pipeline to begin with."),
    "run": ("trio_kafka_spark.pipeline.run:run", "Run a pipeline with Spark."),
}
