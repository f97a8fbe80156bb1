"""Routes while quotas are in force: each answer is charged to who asked, and tells how long to
wait.

Made in place of plain routes as long as somebody is limited, so that nothing is paid for quotas
where there are none.
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
from trio_kafka.requests.context import Context
from trio_kafka.requests.replies import Encoded, Route, facts_of
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
    """inner: the route without charges. tells: the answer can say it; first: it is the first thing
    that the answer says.
    """

    inner: Route
    throttle: Throttle
    tells: bool
    first: bool

    def write(self, request: Request, response: Any) -> Segments:
        """As of any route, and charges the request."""
        return self.inner.write(request, self._charged(request, response))

    def write_in_steps(self, request: Request, response: Any) -> Steps[Segments]:
        """As `write`, of a large response."""
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
        return self._telling(response, wait_ms) if self.tells and wait_ms else response

    def _telling(self, response: Any, wait_ms: int) -> Any:
        """The response with a throttle time; others may share the one without."""
        if type(response) is not Encoded:
            told = copy(response)
            told.throttle_time_ms = wait_ms
            return told
        if self.first:
            return Encoded(
                b"".join((_INT32.pack(wait_ms), memoryview(response.body)[_INT32.size :])),
                response.errors,
            )
        # Of Kafka's APIs only ApiVersions comes here: its answer is small.
        told, _ = decoder(self.api.response, self.version)(memoryview(response.body), 0)
        told.throttle_time_ms = wait_ms
        return Encoded(to_bytes(told, self.version), response.errors)


def charging(make: Callable[[Route], Route], throttle: Throttle) -> Callable[[Route], Route]:
    """As `make`, and with charges while somebody is limited."""

    def put_on(route: Route) -> Route:
        made = make(route)
        return charged(made, throttle) if throttle.active else made

    return put_on


def charged(route: Route, throttle: Throttle) -> ChargedRoute:
    """The same route, with charges."""
    said = [
        field.name
        for field in fields_of(route.api.response)
        if covers(field.versions, route.version) and not covers(field.tagged, route.version)
    ]
    same = facts_of(route)
    if route.api.key == PRODUCE:
        same["handler"] = _charging_silence(route.handler, throttle)
    return ChargedRoute(
        **same,
        inner=route,
        throttle=throttle,
        tells=THROTTLE_TIME in said,
        first=said[:1] == [THROTTLE_TIME],
    )


def _charging_silence(handler: Callable[..., Any], throttle: Throttle) -> Callable[..., Any]:
    """A Produce without acks has no answer that could be charged."""

    @wraps(handler)
    def produce(message: Any, context: Context) -> Any:
        answer = handler(message, context)
        if message.acks == NO_ACKS:
            throttle.charge_produce(context.request, acknowledged=False)
        return answer

    return produce
