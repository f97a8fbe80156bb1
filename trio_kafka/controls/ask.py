"""Requests of the kit to its own broker, from within.

The broker may act as an older release of Kafka, or serve an API in fewer versions: requests take
the newest version that is served, and where older ones have other fields, `last_version` decides.
"""

from collections.abc import Collection
from typing import Final, Protocol, TypeVar, cast

import trio

from trio_kafka.controls.running import KIT_CLIENT, HasParts
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.peers.session import Request
from trio_kafka.protocol.schema import message_of

A = TypeVar("A")

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_LOADING: Final = frozenset({ErrorCode.COORDINATOR_LOAD_IN_PROGRESS})
LOADING_S: Final = 30.0
PAUSE_S: Final = 0.01


async def ask(
    broker: HasParts,
    request: Request[A],
    version: int | None = None,
    *,
    at_most: int | None = None,
) -> A:
    """Return the response to a request of the kit.

    version: None: the newest that is served, and not above `at_most`.
    """
    answer = await broker.parts.in_process.ask(
        request, client_id=KIT_CLIENT, version=version, at_most=at_most
    )
    return cast("A", answer)


def last_version(broker: HasParts, request: type[object]) -> int:
    """Return the newest version of an API that is served; -1: it is not served."""
    key = message_of(request).key
    api = None if key is None else broker.parts.apis.get(key)
    return -1 if api is None else api.last


class _HasCode(Protocol):
    error_code: int


C = TypeVar("C", bound=_HasCode)


async def ask_when_loaded(
    broker: HasParts,
    request: Request[C],
    *,
    at_most: int | None = None,
    passing: Collection[ErrorCode] = _LOADING,
) -> C:
    """Return the response once its error is none of `passing`, or after 30 s whatever it is.

    In the newest version that is served, and not above `at_most`.
    """
    ends = trio.current_time() + LOADING_S
    answer = await ask(broker, request, at_most=at_most)
    while answer.error_code in passing and trio.current_time() < ends:
        await trio.sleep(PAUSE_S)
        answer = await ask(broker, request, at_most=at_most)
    return answer


def check(error_code: int, message: str | None) -> None:
    """Raise KafkaError for an error code of a response."""
    if error_code:
        raise KafkaError(ErrorCode(error_code), message or "")
