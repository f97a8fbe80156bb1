"""LeaveGroup (key 13): remove members from a classic group, by themselves or by an administrator.

Waits, parked, until the change is committed. From version 3 on a request names several members, and
each gets an error of its own; a static member may be named by its instance alone. Before, there is
one member. Source: KIP-345, KIP-800.

Needs READ on the group.
"""

from typing import Final

from trio_kafka.coordinators.groups.classic.values import LeavingMember
from trio_kafka.coordinators.groups.coordinator import GroupCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

MANY_SINCE: Final = 3
MOST_MEMBERS: Final = 10_000  # of one request: 30 ms


@api(LeaveGroupRequest)
def leave_group(request: LeaveGroupRequest, context: Context) -> Eventual[LeaveGroupResponse]:
    context.authorize(Operation.READ, group=request.group_id)
    if context.version < MANY_SINCE:
        alone = [LeavingMember(member_id=request.member_id)]
        return then(context[GroupCoordinator].classic.leave(request.group_id, alone), _of_one)
    if len(request.members) > MOST_MEMBERS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            f"{len(request.members)} members: expected at most {MOST_MEMBERS}",
        )
    members = [
        LeavingMember(
            member_id=member.member_id, instance_id=member.group_instance_id, reason=member.reason
        )
        for member in request.members
    ]

    def answer(codes: list[ErrorCode] | KafkaError) -> LeaveGroupResponse:
        if isinstance(codes, KafkaError):
            if codes.code is not ErrorCode.UNKNOWN_MEMBER_ID:
                return LeaveGroupResponse(error_code=codes.code)
            codes = [ErrorCode.UNKNOWN_MEMBER_ID] * len(members)  # the group does not exist
        return LeaveGroupResponse(
            members=[
                MemberResponse(member.member_id, member.instance_id, code)
                for member, code in zip(members, codes, strict=True)
            ]
        )

    return then(context[GroupCoordinator].classic.leave(request.group_id, members), answer)


def _of_one(codes: list[ErrorCode] | KafkaError) -> LeaveGroupResponse:
    code = codes.code if isinstance(codes, KafkaError) else codes[0]
    return LeaveGroupResponse(error_code=code)
