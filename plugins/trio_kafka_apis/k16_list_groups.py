"""ListGroups (key 16): the groups that this broker coordinates, of every type.

Waits while shards with many groups are looked through. One that is being loaded makes the whole
answer COORDINATOR_LOAD_IN_PROGRESS: nobody is to take a part for all. Filters by state (version 4)
and type (version 5) take no notice of case. Source: KIP-518, KIP-848.
"""

from typing import Any

from trio_kafka.plugin import Context, ErrorCode, GroupFilter, KafkaError, api, lazily
from trio_kafka.plugin import ListedGroup as Found
from trio_kafka.protocol.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)


@api(ListGroupsRequest)
def list_groups(request: ListGroupsRequest, context: Context) -> Any:
    wanted = GroupFilter(request.states_filter, request.types_filter)
    return context.groups.list_groups(wanted, _response)


def _response(shards: list[list[Found] | KafkaError]) -> ListGroupsResponse:
    found: list[Found] = []
    for groups in shards:
        if not isinstance(groups, KafkaError):
            found += groups
        elif groups.code is not ErrorCode.NOT_COORDINATOR:  # that has only just gone elsewhere
            return ListGroupsResponse(error_code=groups.code)
    return ListGroupsResponse(groups=lazily(found, lambda one: ListedGroup(*one)))
