"""Topics and log directories in Spark jobs.

One line for each command `trio-kafka spark NAME`; the module is imported when the command runs, so
nothing that imports pyspark is imported here.
"""

from collections.abc import Mapping
from typing import Final

INSTALL: Final = "trio-kafka[spark]"
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "usage": ("trio_kafka_spark.cli.usage:usage", "Show what topics store, or clients ask for."),
    "requests": ("trio_kafka_spark.cli.requests:requests", "Show latency from the request log."),
    "lag": ("trio_kafka_spark.cli.lag:lag", "Show the lag of consumer groups over time."),
    "skew": ("trio_kafka_spark.cli.skew:skew", "Show uneven partitions, or frequent keys."),
    "fill": ("trio_kafka_spark.cli.fill:fill", "Show how full batches are, and what is saved."),
    "verify": ("trio_kafka_spark.cli.verify:verify", "Verify log directories and their indexes."),
    "dump": ("trio_kafka_spark.cli.dump:dump", "Show records as text."),
    "compaction": (
        "trio_kafka_spark.cli.compaction:compaction",
        "Show what compaction would remove.",
    ),
    "repartition": (
        "trio_kafka_spark.cli.repartition:repartition",
        "Copy a topic to another number of partitions.",
    ),
    "replay": ("trio_kafka_spark.cli.replay:replay", "Write records again, at a speed or a rate."),
    "restore": ("trio_kafka_spark.cli.restore:restore", "Write records back to their partitions."),
    "checkpoint": (
        "trio_kafka_spark.checkpoint:checkpoint",
        "Print where a stopped stream goes on.",
    ),
}
