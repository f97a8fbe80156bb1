"""Metadata records of settings."""

from trio_kafka.protocol.schema import int8, record, string


@record(key=4, versions="0", flexible="0+")
class ConfigRecord:
    """A setting of a resource; null takes it away. An empty resource name is the default of all."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")
