"""Requests of the kit to its own broker, from within."""

from typing import Any, Final

from trio_kafka.broker import RunningBroker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.security.principal import USER, Principal

CLIENT_ID: Final = "trio-kafka-testing"
PRINCIPAL: Final = Principal(USER, CLIENT_ID)


async def ask(broker: RunningBroker, request: object, version: int | None = None) -> Any:
    """Return the response to a request of the kit. version: None: the newest that is served."""
    return await broker.parts.in_process.ask(
        request, principal=PRINCIPAL, client_id=CLIENT_ID, version=version
    )


def check(error_code: int, message: str | None) -> None:
    """Raise KafkaError for an error code of a response."""
    if error_code:
        raise KafkaError(ErrorCode(error_code), message or "")
