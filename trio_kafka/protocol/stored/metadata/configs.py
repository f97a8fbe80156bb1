"""Metadata records of settings."""

from trio_kafka.protocol.schema import int8, record, string


@record(key=4, versions="0", flexible="0+")
class ConfigRecord:
    """Setting of a resource; null removes it. An empty resource name means all resources."""

    resource_type: int = int8()
    resource_name: str = string()
    name: str = string()
    value: str | None = string(nullable="0+")
