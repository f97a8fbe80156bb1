"""ShareGroupHeartbeat (key 76): keep a member of a share group alive (KIP-932)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, int16, int32, string, struct_
from trio_kafka.protocol.schema import request, response
from trio_kafka.protocol.structs.groups import Assignment


@request(key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatRequest:
    """The member's epoch: 0 joins, -1 leaves; null fields are unchanged."""

    response: ClassVar[type["ShareGroupHeartbeatResponse"]]

    group_id: str = string()
    member_id: str = string()
    member_epoch: int = int32()
    rack_id: str | None = string(nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = array(string, nullable="0+", default=None)


@response(ShareGroupHeartbeatRequest)
class ShareGroupHeartbeatResponse:
    """The member's epoch, and its assignment if it changed."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    member_id: str | None = string(nullable="0+", default=None)
    member_epoch: int = int32()
    heartbeat_interval_ms: int = int32()
    assignment: Assignment | None = struct_(Assignment, nullable="0+", default=None)
