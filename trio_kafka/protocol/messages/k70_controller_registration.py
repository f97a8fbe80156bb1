"""ControllerRegistration (key 70): a controller registers with the active one."""

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, uint16, uuid
from trio_kafka.protocol.schema import request, response, struct


@struct
class Listener:
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class Feature:
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@request(key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    """The controller, its incarnation, endpoints and features."""

    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)


@response(ControllerRegistrationRequest)
class ControllerRegistrationResponse:
    """An error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
