"""LeaveGroup (key 13): members leave a classic group, or an administrator removes them.

Waits, parked, until what follows is committed. From version 3 on there are several, and each has
its own error; static members may be named by their instance alone. Before, there is one.
Source: KIP-345, KIP-800.
"""

from typing import Any, Final

from trio_kafka.plugin import Context, ErrorCode, KafkaError, Leaving, api
from trio_kafka.protocol.messages.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberResponse,
)

MANY_SINCE: Final = 3
MOST_MEMBERS: Final = 10_000  # of a request: 30 ms


@api(LeaveGroupRequest)
def leave_group(request: LeaveGroupRequest, context: Context) -> Any:
    if context.version < MANY_SINCE:
        alone = [Leaving(member_id=request.member_id)]
        return context.groups.classic.leave(request.group_id, alone, _of_one)
    if len(request.members) > MOST_MEMBERS:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"{len(request.members)} members: want {MOST_MEMBERS}"
        )
    members = [
        Leaving(member_id=one.member_id, instance_id=one.group_instance_id, reason=one.reason)
        for one in request.members
    ]

    def answer(codes: list[ErrorCode] | KafkaError) -> LeaveGroupResponse:
        if isinstance(codes, KafkaError):
            if codes.code is not ErrorCode.UNKNOWN_MEMBER_ID:
                return LeaveGroupResponse(error_code=codes.code)
            codes = [ErrorCode.UNKNOWN_MEMBER_ID] * len(members)  # there is no such group
        return LeaveGroupResponse(
            members=[
                MemberResponse(one.member_id, one.instance_id, code)
                for one, code in zip(members, codes, strict=True)
            ]
        )

    return context.groups.classic.leave(request.group_id, members, answer)


def _of_one(codes: list[ErrorCode] | KafkaError) -> LeaveGroupResponse:
    code = codes.code if isinstance(codes, KafkaError) else codes[0]
    return LeaveGroupResponse(error_code=code)
