"""Charge of each request to its client; the throttle time goes into the response.

Routes are charged only while a quota is in force.
"""

from collections.abc import Callable
from copy import copy
from functools import wraps
from struct import Struct
from typing import Any, Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.handler_slot import RequestContext
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.requests.throttling.throttle import EXEMPT, Throttle

PRODUCE: Final = 0
NO_ACKS: Final = 0
THROTTLE_TIME: Final = "throttle_time_ms"
_INT32: Final = Struct(">i")


@frozen
class Charge:
    """Charge of a route's requests.

    has_throttle_time: the response has a throttle time.
    is_first: the throttle time is the first field of the response.
    """

    route: Route
    throttle: Throttle
    has_throttle_time: bool
    is_first: bool

    def __call__(self, request: Request, response: object) -> object:
        """Charge the request; return its response, with a throttle time if it must wait."""
        throttle, key = self.throttle, self.route.api.key
        if throttle.is_charged(request):
            return response
        if key in EXEMPT:
            throttle.exempt(request)
            return response
        if key == PRODUCE:
            wait_ms = throttle.charge_produce(request, acknowledged=True)
        else:
            wait_ms = throttle.charge(request, getattr(response, THROTTLE_TIME, 0))
        if not wait_ms or not self.has_throttle_time:
            return response
        return self.with_throttle_time(response, wait_ms)

    def with_throttle_time(self, response: Any, wait_ms: int) -> Any:
        """Return a copy with a throttle time, because requests may share the response."""
        if type(response) is not Encoded:
            copied = copy(response)
            copied.throttle_time_ms = wait_ms
            return copied
        if self.is_first:
            return Encoded(
                b"".join((_INT32.pack(wait_ms), memoryview(response.body)[_INT32.size :])),
                response.errors,
            )
        route = self.route
        # Among Kafka's APIs only ApiVersions gets here, and its response is small.
        decoded, _ = decoder(route.api.response, route.version)(memoryview(response.body), 0)
        decoded.throttle_time_ms = wait_ms
        return Encoded(to_bytes(decoded, route.version), response.errors)


def charged(route: Route, throttle: Throttle) -> Route:
    """Return the route with charges."""
    untagged = [
        field.name
        for field in fields_of(route.api.response)
        if covers(field.versions, route.version) and not covers(field.tagged, route.version)
    ]
    charge = Charge(route, throttle, THROTTLE_TIME in untagged, untagged[:1] == [THROTTLE_TIME])
    handler = route.handler
    if route.api.key == PRODUCE:
        handler = _charging_unacknowledged(handler, throttle)
    return evolve(route, charge=charge, handler=handler)


def _charging_unacknowledged(
    handler: Callable[..., object], throttle: Throttle
) -> Callable[..., object]:
    """Return a Produce handler that charges requests with acks=0, which have no response."""

    @wraps(handler)
    def produce(message: Any, context: RequestContext) -> Any:
        answer = handler(message, context)
        if message.acks == NO_ACKS:
            throttle.charge_produce(context.request, acknowledged=False)
        return answer

    return produce
