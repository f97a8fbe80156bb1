"""UnregisterBroker (key 64): remove a broker from the cluster."""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, request, response, string


@request(key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest:
    """Remove the registration of a broker."""

    response: ClassVar[type["UnregisterBrokerResponse"]]

    broker_id: int = int32()


@response(UnregisterBrokerRequest)
class UnregisterBrokerResponse:
    """Result of the removal of a broker registration."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
