"""ControllerRegistration (key 70): a controller registers with the active one."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response
from trio_kafka.protocol.structs.cluster import NodeFeature, NodeListener


@request(key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    """The controller, its incarnation, endpoints and features."""

    response: ClassVar[type["ControllerRegistrationResponse"]]

    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    listeners: list[NodeListener] = array(NodeListener)
    features: list[NodeFeature] = array(NodeFeature)


@response(ControllerRegistrationRequest)
class ControllerRegistrationResponse:
    """Result of a controller registration."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
