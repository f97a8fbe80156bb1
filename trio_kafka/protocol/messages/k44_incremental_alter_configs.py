"""IncrementalAlterConfigs (key 44): change single settings of resources."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class AlterableConfig:
    name: str = string()
    config_operation: int = int8()
    value: str | None = string(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array(AlterableConfig)


@request(key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    """Operations: 0 set, 1 delete, 2 append, 3 subtract."""

    response: ClassVar[type["IncrementalAlterConfigsResponse"]]

    resources: list[AlterConfigsResource] = array(AlterConfigsResource)
    validate_only: bool = boolean()


@struct
class AlterConfigsResourceResponse:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()


@response(IncrementalAlterConfigsRequest)
class IncrementalAlterConfigsResponse:
    """An error for each resource."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array(AlterConfigsResourceResponse)
