"""SyncGroup (key 14): hand out the assignments of a classic group's generation."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, bytes_, int16, int32, string
from trio_kafka.protocol.schema import request, response, struct


@struct
class SyncGroupRequestAssignment:
    member_id: str = string()
    assignment: bytes = bytes_()


@request(key=14, versions="0-5", flexible="4+")
class SyncGroupRequest:
    """The leader sends all assignments, the others none."""

    response: ClassVar[type["SyncGroupResponse"]]

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)
    protocol_type: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


@response(SyncGroupRequest)
class SyncGroupResponse:
    """The assignment of the member that asked."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
    protocol_type: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = string("5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = bytes_()
