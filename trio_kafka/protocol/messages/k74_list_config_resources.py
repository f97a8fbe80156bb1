"""ListConfigResources (key 74): list the resources that have settings."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@request(key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    """Types of resources; empty: all supported types."""

    response: ClassVar[type["ListConfigResourcesResponse"]]

    resource_types: list[int] = array(int8, "1+")


@struct
class ConfigResource:
    resource_name: str = string()
    resource_type: int = int8("1+", default=16, ignorable=True)


@response(ListConfigResourcesRequest)
class ListConfigResourcesResponse:
    """Resources by name and type."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array(ConfigResource)
