"""DescribeConfigs (key 32): read the settings of topics, brokers and other resources."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class DescribeConfigsResource:
    resource_type: int = int8()
    resource_name: str = string()
    configuration_keys: list[str] | None = array(string, nullable="0+")


@request(key=32, versions="1-4", flexible="4+")
class DescribeConfigsRequest:
    """Resources, and the names of settings: null is all."""

    response: ClassVar[type["DescribeConfigsResponse"]]

    resources: list[DescribeConfigsResource] = array(DescribeConfigsResource)
    include_synonyms: bool = boolean()
    include_documentation: bool = boolean("3+")


@struct
class DescribeConfigsSynonym:
    name: str = string()
    value: str | None = string(nullable="0+")
    source: int = int8()


@struct
class DescribeConfigsResourceResult:
    name: str = string()
    value: str | None = string(nullable="0+")
    read_only: bool = boolean()
    config_source: int = int8(default=-1, ignorable=True)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array(DescribeConfigsSynonym, ignorable=True)
    config_type: int = int8("3+", ignorable=True)
    documentation: str | None = string("3+", nullable="0+", ignorable=True)


@struct
class DescribeConfigsResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array(DescribeConfigsResourceResult)


@response(DescribeConfigsRequest)
class DescribeConfigsResponse:
    """Settings of each resource with their sources, synonyms (v1+) and documentation (v3+)."""

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array(DescribeConfigsResult)
