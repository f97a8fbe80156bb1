"""DescribeGroups (key 15): describe the state and the members of classic groups.

Waits only while a change of a group is not committed yet. A group that is named twice is described
once. A group that does not exist is Dead; from version 6 on that is an error too. Consumer groups
are described by ConsumerGroupDescribe. Source: KIP-430 (authorized operations), KIP-1043.

Needs DESCRIBE on each group.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.values import GroupDescription
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily, rows_of
from trio_kafka.security.operations import Operation

OPERATIONS_SINCE: Final = 3
NOT_FOUND_SINCE: Final = 6
DEAD: Final = "Dead"


def say_error(
    request: DescribeGroupsRequest, code: ErrorCode, message: str | None
) -> DescribeGroupsResponse:
    """Return the error for each group."""
    del message
    return DescribeGroupsResponse(
        groups=rows_of(request.groups, lambda name: DescribedGroup(error_code=code, group_id=name))
    )


@api(DescribeGroupsRequest, error=say_error)
def describe_groups(
    request: DescribeGroupsRequest, context: Context
) -> Eventual[DescribeGroupsResponse]:
    names, version = list(dict.fromkeys(request.groups)), context.version
    operations = request.include_authorized_operations and version >= OPERATIONS_SINCE
    denied = KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)
    allowed = dict.fromkeys(context.authorized(Operation.DESCRIBE, groups=names))

    def answer(groups: list[GroupDescription | KafkaError]) -> DescribeGroupsResponse:
        by_name = dict(zip(allowed, groups, strict=True))

        def describe(name: str) -> DescribedGroup:
            row = _row(name, by_name.get(name, denied), version)
            if operations and not row.error_code:
                row.authorized_operations = context.authorized_operations(group=name)
            return row

        return DescribeGroupsResponse(groups=rows_of(names, describe))

    if not allowed:
        return answer([])
    return then(context[GroupCoordinator].classic.describe(list(allowed)), answer)


def _row(name: str, group: GroupDescription | KafkaError, version: int) -> DescribedGroup:
    if isinstance(group, GroupDescription):
        return DescribedGroup(
            group_id=name,
            group_state=group.state,
            protocol_type=group.protocol_type,
            protocol_data=group.protocol_name,
            members=lazily(
                group.members,
                lambda member: DescribedGroupMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    member_metadata=member.metadata,
                    member_assignment=member.assignment,
                ),
            ),
        )
    if group.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return DescribedGroup(error_code=group.code, group_id=name)
    if version < NOT_FOUND_SINCE:
        return DescribedGroup(group_id=name, group_state=DEAD)
    return DescribedGroup(
        error_code=group.code, error_message=group.message, group_id=name, group_state=DEAD
    )
