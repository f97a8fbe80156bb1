"""DeleteAcls (key 31): delete access control entries."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int = int8()
    resource_name_filter: str | None = string(nullable="0+")
    pattern_type_filter: int = int8(default=3)
    principal_filter: str | None = string(nullable="0+")
    host_filter: str | None = string(nullable="0+")
    operation: int = int8()
    permission_type: int = int8()


@request(key=31, versions="1-3", flexible="2+")
class DeleteAclsRequest:
    """Filters that say what to delete."""

    response: ClassVar[type["DeleteAclsResponse"]]

    filters: list[DeleteAclsFilter] = array(DeleteAclsFilter)


@struct
class DeleteAclsMatchingAcl:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    resource_type: int = int8()
    resource_name: str = string()
    pattern_type: int = int8(default=3)
    principal: str = string()
    host: str = string()
    operation: int = int8()
    permission_type: int = int8()


@struct
class DeleteAclsFilterResult:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = array(DeleteAclsMatchingAcl)


@response(DeleteAclsRequest)
class DeleteAclsResponse:
    """The entries deleted, by filter."""

    throttle_time_ms: int = int32()
    filter_results: list[DeleteAclsFilterResult] = array(DeleteAclsFilterResult)
