"""Routes that charge each request to its client and put the throttle time into the response.

They replace plain routes while a quota is in force, so that a broker without quotas does not pay
for them.
"""

from collections.abc import Callable
from copy import copy
from functools import wraps
from struct import Struct
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.handler_slot import RequestContext
from trio_kafka.requests.replies import Encoded, Route, route_fields
from trio_kafka.requests.throttling.throttle import EXEMPT, Throttle
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.server import Segments

PRODUCE: Final = 0
FETCH: Final = 1
NO_ACKS: Final = 0
THROTTLE_TIME: Final = "throttle_time_ms"
_INT32: Final = Struct(">i")


@frozen(kw_only=True)
class ChargedRoute(Route):
    """Route that charges its requests.

    inner: the route without charges.
    has_throttle_time: the response has a throttle time.
    is_first: the throttle time is the first field of the response.
    """

    inner: Route
    throttle: Throttle
    has_throttle_time: bool
    is_first: bool

    def write(self, request: Request, response: Any) -> Segments:
        """Charge the request, and encode its response into segments."""
        return self.inner.write(request, self._charged(request, response))

    def write_in_steps(self, request: Request, response: Any) -> Steps[Segments]:
        """Charge the request, and encode its large response into segments."""
        charged = self._charged(request, response)
        return (yield from self.inner.write_in_steps(request, charged))

    def _charged(self, request: Request, response: Any) -> Any:
        throttle, key = self.throttle, self.api.key
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
        return self._with_throttle_time(response, wait_ms)

    def _with_throttle_time(self, response: Any, wait_ms: int) -> Any:
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
        # Among Kafka's APIs only ApiVersions gets here, and its response is small.
        decoded, _ = decoder(self.api.response, self.version)(memoryview(response.body), 0)
        decoded.throttle_time_ms = wait_ms
        return Encoded(to_bytes(decoded, self.version), response.errors)


def charging(make: Callable[[Route], Route], throttle: Throttle) -> Callable[[Route], Route]:
    """Return a function that makes routes like `make`, with charges while a quota is in force."""

    def wrap(route: Route) -> Route:
        made = make(route)
        return charged(made, throttle) if throttle.active else made

    return wrap


def charged(route: Route, throttle: Throttle) -> ChargedRoute:
    """Return the route with charges."""
    untagged = [
        field.name
        for field in fields_of(route.api.response)
        if covers(field.versions, route.version) and not covers(field.tagged, route.version)
    ]
    values = route_fields(route)
    if route.api.key == PRODUCE:
        values["handler"] = _charging_unacknowledged(route.handler, throttle)
    return ChargedRoute(
        **values,
        inner=route,
        throttle=throttle,
        has_throttle_time=THROTTLE_TIME in untagged,
        is_first=untagged[:1] == [THROTTLE_TIME],
    )


def _charging_unacknowledged(handler: Callable[..., Any], throttle: Throttle) -> Callable[..., Any]:
    """Return a Produce handler that charges requests with acks=0, which have no response."""

    @wraps(handler)
    def produce(message: Any, context: RequestContext) -> Any:
        answer = handler(message, context)
        if message.acks == NO_ACKS:
            throttle.charge_produce(context.request, acknowledged=False)
        return answer

    return produce
