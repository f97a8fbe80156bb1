"""Requests of the kit to its own broker, from within."""

from typing import Final, TypeVar, cast

from trio_kafka.controls.running import KIT_CLIENT, HasParts
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.peers.session import Request
from trio_kafka.security.principal import USER, Principal

A = TypeVar("A")

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

PRINCIPAL: Final = Principal(USER, KIT_CLIENT)


async def ask(broker: HasParts, request: Request[A], version: int | None = None) -> A:
    """Return the response to a request of the kit. version: None: the newest that is served."""
    answer = await broker.parts.in_process.ask(
        request, principal=PRINCIPAL, client_id=KIT_CLIENT, version=version
    )
    return cast("A", answer)


def check(error_code: int, message: str | None) -> None:
    """Raise KafkaError for an error code of a response."""
    if error_code:
        raise KafkaError(ErrorCode(error_code), message or "")
