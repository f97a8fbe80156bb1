"""Topics to tables and back: formats of values, exactly-once commits, dead letters, replays.

Names are imported on first use: most of them need pyspark.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trio_kafka_spark.lake.registry import RegistrySettings
    from trio_kafka_spark.lake.to_table import topic_to_table
    from trio_kafka_spark.lake.to_topic import read_table, table_to_topic
    from trio_kafka_spark.lake.values import Avro, Json, Raw

__all__ = [
    "Avro",
    "Json",
    "Raw",
    "RegistrySettings",
    "read_table",
    "table_to_topic",
    "topic_to_table",
]

_MODULES = {
    "Avro": "values",
    "Json": "values",
    "Raw": "values",
    "RegistrySettings": "registry",
    "read_table": "to_topic",
    "table_to_topic": "to_topic",
    "topic_to_table": "to_table",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
