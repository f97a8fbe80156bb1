"""Heartbeat (key 12): keep the session of a classic group member alive."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=12, versions="0-4", flexible="4+")
class HeartbeatRequest:
    """A member in its generation."""

    response: ClassVar[type["HeartbeatResponse"]]

    group_id: str = string()
    generation_id: int = int32()
    member_id: str = string()
    group_instance_id: str | None = string("3+", nullable="3+", default=None)


@response(HeartbeatRequest)
class HeartbeatResponse:
    """REBALANCE_IN_PROGRESS asks the member to join again."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16()
