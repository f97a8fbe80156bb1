"""AlterConfigs (key 33): replace all settings of resources; IncrementalAlterConfigs is its
successor.
"""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class AlterableConfig:
    name: str = string()
    value: str | None = string(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


@request(key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest:
    """All settings of each resource; omitted ones return to their defaults."""

    response: ClassVar[type["AlterConfigsResponse"]]

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


@response(AlterConfigsRequest)
class AlterConfigsResponse:
    """An error for each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
