"""What a handler may ask besides the request itself: who asks, where, and the parts of the
broker.
"""

from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import attrs

from trio_kafka.model import Endpoint
from trio_kafka.network.request import ConnectionPort, Request
from trio_kafka.requests.parts import Parts
from trio_kafka.security.operations import Operation

if TYPE_CHECKING:
    from trio_kafka.requests.parking import Parking

    # For the type checker a context has every part as an attribute; at run time see below.
    from trio_kafka.requests.parts import Parts as _Parts
else:
    _Parts = object

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Context(_Parts):
    """One request's view of the broker; every field of `Parts` is an attribute of it."""

    __slots__ = ("parking", "parts", "request", "version")

    def __init__(self, request: Request, parts: Parts, parking: "Parking | None" = None) -> None:
        self.request = request
        self.parts = parts
        self.version = request.code & 0xFFFF  # of the API; no negative one is ever served
        self.parking = parking

    @property
    def correlation(self) -> int:
        return self.request.correlation

    @property
    def client_id(self) -> str:
        """Empty where the client sent none."""
        return self.request.client_id

    @property
    def principal(self) -> str:
        """Who asks, as `User:name`."""
        return str(self.request.connection.principal)

    @property
    def connection(self) -> ConnectionPort:
        return self.request.connection

    @property
    def peer(self) -> Endpoint:
        return self.request.connection.peer

    @property
    def listener(self) -> str:
        """The name of the listener that the request came through."""
        return self.request.connection.listener.name

    def authorize_local(self, operation: Operation) -> None:
        """Refuse a change of this broker, by an API that is not Kafka's, to other machines.

        Raises KafkaError(CLUSTER_AUTHORIZATION_FAILED). See `requests.authority`.
        """
        self.parts.local_changes.authorize(operation, self.request)

    async def parked(
        self,
        wait: Callable[[*Ts], Awaitable[T]],
        *args: *Ts,
        deadline: float = float("inf"),
    ) -> T:
        """Await wait(*args) without holding a handler's place. For async handlers.

        Raises trio.TooSlowError at the deadline (trio.current_time()). Ends the request if the peer
        leaves meanwhile. Whatever comes back comes back with a place. The request's frame stays
        valid.
        """
        if self.parking is None:
            raise RuntimeError("a plain handler cannot wait: return a Delayed, or make it async")
        return await self.parking.parked(wait, *args, deadline=deadline)


def _reach(part: str) -> Any:
    return property(attrgetter(f"parts.{part}"))


for _field in attrs.fields(Parts):
    setattr(Context, _field.name, _reach(_field.name))
