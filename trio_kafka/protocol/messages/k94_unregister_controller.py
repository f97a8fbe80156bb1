"""UnregisterController (key 94): remove a controller from the cluster."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=94, versions="0", flexible="0+")
class UnregisterControllerRequest:
    """Remove the registration of a controller."""

    response: ClassVar[type["UnregisterControllerResponse"]]

    controller_id: int = int32()


@response(UnregisterControllerRequest)
class UnregisterControllerResponse:
    """Result of the removal of a controller registration."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
