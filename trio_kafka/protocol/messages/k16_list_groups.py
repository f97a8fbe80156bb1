"""ListGroups (key 16): list the groups that a broker coordinates."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@request(key=16, versions="0-5", flexible="3+")
class ListGroupsRequest:
    """Filters by state (v4+) and type (v5+); empty is all."""

    response: ClassVar[type["ListGroupsResponse"]]

    states_filter: list[str] = array(string, "4+")
    types_filter: list[str] = array(string, "5+")


@struct
class ListedGroup:
    group_id: str = string()
    protocol_type: str = string()
    group_state: str = string("4+", ignorable=True)
    group_type: str = string("5+", ignorable=True)


@response(ListGroupsRequest)
class ListGroupsResponse:
    """Groups with protocol type, state and type."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    groups: list[ListedGroup] = array(ListedGroup)
