"""LeaveGroup (key 13): members leave a classic group."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int16, int32, request, response, string, struct


@struct
class MemberIdentity:
    member_id: str = string()
    group_instance_id: str | None = string(nullable="3+", default=None)
    reason: str | None = string("5+", nullable="5+", default=None, ignorable=True)


@request(key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest:
    """One member up to v2, several from v3 on."""

    response: ClassVar[type["LeaveGroupResponse"]]

    group_id: str = string()
    member_id: str = string("0-2")
    members: list[MemberIdentity] = array(MemberIdentity, "3+")


@struct
class MemberResponse:
    member_id: str = string()
    group_instance_id: str | None = string(nullable="3+")
    error_code: int = int16()


@response(LeaveGroupRequest)
class LeaveGroupResponse:
    """From v3 on an error code for each member."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    members: list[MemberResponse] = array(MemberResponse, "3+")
