"""JoinGroup (key 11): join a classic group; answered when all members have joined."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, bytes_, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class JoinGroupRequestProtocol:
    name: str = string()
    metadata: bytes = bytes_()


@request(key=11, versions="0-9", flexible="6+")
class JoinGroupRequest:
    """A member with the protocols that it speaks, in its order of preference."""

    response: ClassVar[type["JoinGroupResponse"]]

    group_id: str = string()
    session_timeout_ms: int = int32()
    rebalance_timeout_ms: int = int32("1+", default=-1, ignorable=True)
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None)
    protocol_type: str = string()
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = string("8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: str = string()
    group_instance_id: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = bytes_()


@response(JoinGroupRequest)
class JoinGroupResponse:
    """The generation, and for the leader alone all members."""

    throttle_time_ms: int = int32("2+", ignorable=True)
    error_code: int = int16()
    generation_id: int = int32(default=-1)
    protocol_type: str | None = string("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = string(nullable="7+")
    leader: str = string()
    skip_assignment: bool = boolean("9+")
    member_id: str = string()
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
