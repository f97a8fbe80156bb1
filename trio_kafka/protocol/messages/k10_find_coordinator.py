"""FindCoordinator (key 10): find the broker that coordinates a group or a transactional id."""

from typing import ClassVar

from trio_kafka.protocol.schema import array, int8, int16, int32, request, response, string, struct


@request(key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    """One key up to v3, several from v4 on."""

    response: ClassVar[type["FindCoordinatorResponse"]]

    key: str = string("0-3")
    key_type: int = int8("1+")
    coordinator_keys: list[str] = array(string, "4+")


@struct
class Coordinator:
    key: str = string()
    node_id: int = int32()
    host: str = string()
    port: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="4+", ignorable=True)


@response(FindCoordinatorRequest)
class FindCoordinatorResponse:
    """One broker up to v3, one for each key from v4 on."""

    throttle_time_ms: int = int32("1+", ignorable=True)
    error_code: int = int16("0-3")
    error_message: str | None = string("1-3", nullable="1-3", ignorable=True)
    node_id: int = int32("0-3")
    host: str = string("0-3")
    port: int = int32("0-3")
    coordinators: list[Coordinator] = array(Coordinator, "4+")
