"""Topics and log directories in Spark jobs.

One line for each command `trio-kafka spark NAME`; the module is imported when the command runs, so
nothing that imports pyspark is imported here.
"""

from collections.abc import Mapping
from typing import Final

INSTALL: Final = "trio-kafka[spark]"
COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "checkpoint": (
        "trio_kafka_spark.checkpoint:checkpoint",
        "Print where a stopped stream goes on.",
    ),
}
