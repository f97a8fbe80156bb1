"""Metadata records of controllers."""

from trio_kafka.protocol.fields import array, boolean, int16, int32, string, uint16, uuid
from trio_kafka.protocol.schema import record, struct


@struct
class ControllerEndpoint:
    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


@struct
class ControllerFeature:
    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


@record(key=27, versions="0", flexible="0+")
class RegisterControllerRecord:
    """Registration of a controller."""

    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)


@record(key=29, versions="0", flexible="0+")
class UnregisterControllerRecord:
    """Final removal of a controller."""

    controller_id: int = int32()
