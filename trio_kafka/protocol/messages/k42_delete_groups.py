"""DeleteGroups (key 42): delete empty groups."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@request(key=42, versions="0-3", flexible="2+")
class DeleteGroupsRequest:
    """Delete empty groups, by group id."""

    response: ClassVar[type["DeleteGroupsResponse"]]

    groups_names: list[str] = array(string)


@struct
class DeletableGroupResult:
    group_id: str = string()
    error_code: int = int16()
    error_message: str | None = string("3+", nullable="3+", default=None, ignorable=True)


@response(DeleteGroupsRequest)
class DeleteGroupsResponse:
    """An error for each group."""

    throttle_time_ms: int = int32()
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
