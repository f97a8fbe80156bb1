"""ListGroups (key 16): list the groups that this broker coordinates, of every type.

Waits while shards with many groups are searched. If a shard is being loaded, the whole response is
COORDINATOR_LOAD_IN_PROGRESS, so that a client never takes a part for the whole. The filters by
state (version 4) and type (version 5) ignore case. Source: KIP-518, KIP-848.

Needs DESCRIBE on the cluster. Without it only groups are listed on which the client has DESCRIBE.
"""

from functools import partial

from trio_kafka.coordinators.groups.administration import GroupFilter
from trio_kafka.coordinators.groups.administration import ListedGroup as Found
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k16_list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation


@api(ListGroupsRequest)
def list_groups(request: ListGroupsRequest, context: Context) -> Eventual[ListGroupsResponse]:
    chosen = GroupFilter(request.states_filter, request.types_filter)
    return then(context[GroupCoordinator].list_groups(chosen), partial(_respond, context))


def _respond(
    context: Context, shards: list[list[Found] | KafkaError]
) -> Eventual[ListGroupsResponse]:
    listed: list[Found] = []
    for groups in shards:
        if not isinstance(groups, KafkaError):
            listed += groups
        elif groups.code is not ErrorCode.NOT_COORDINATOR:  # else it has just moved elsewhere
            return ListGroupsResponse(error_code=groups.code)
    if context.is_authorized(Operation.DESCRIBE, cluster=True):
        return _response(listed)
    visible: list[Found] = []

    def add_if_visible(group: Found) -> None:
        if context.is_authorized(Operation.DESCRIBE, group=group.group_id):
            visible.append(group)

    return for_each(listed, add_if_visible, lambda: _response(visible))


def _response(groups: list[Found]) -> ListGroupsResponse:
    return ListGroupsResponse(groups=lazily(groups, lambda group: ListedGroup(*group)))
