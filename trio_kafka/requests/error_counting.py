"""Routes that count the error codes in all parts of their responses.

They replace plain routes while a metrics reporter needs the counts, so that other brokers do not
pay for them. Codes are counted while a response is encoded, which includes the items of lazy
arrays. An `Encoded` response carries its own counts.
Source: RequestChannel.updateErrorMetrics and AbstractResponse.errorCounts of Apache Kafka.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import counting_encoder
from trio_kafka.requests.chunked_codec import encode_in_steps
from trio_kafka.requests.replies import Encoded, Route, route_fields
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.server import Segments, answer

_SUCCESS: Final[Mapping[int, int]] = {0: 1}


@define(eq=False)
class ErrorCounts:
    """Switch of error counting; the counts are stored in the stamps of each request."""

    active: bool = field(default=False, init=False)
    _toggled: list[Callable[[], None]] = field(factory=list, init=False)

    def on_toggle(self, call: Callable[[], None]) -> None:
        """Call a function after each change of `active`."""
        self._toggled.append(call)

    def set_active(self, active: bool) -> None:
        """Start or stop counting; requests in flight keep their routes."""
        if active is not self.active:
            self.active = active
            for call in self._toggled:
                call()


@frozen(kw_only=True)
class CountedRoute(Route):
    """Route that counts errors. encode_counting: like `encode`, with counts by error code."""

    encode_counting: Callable[[Any, Callable[[Any], object], dict[int, int]], None]

    def write(self, request: Request, response: Any) -> Segments:
        """Encode the response to `request` into segments, and count its errors."""
        if type(response) is Encoded:
            request.stamps.errors = _SUCCESS if response.errors is None else response.errors
            return super().write(request, response)
        counts: dict[int, int] = defaultdict(int)
        parts: list[Any] = []
        self.encode_counting(response, parts.append, counts)
        request.stamps.errors = counts
        return answer(request.correlation, parts, flexible=self.flexible_response)

    def write_in_steps(self, request: Request, response: Any) -> Steps[Segments]:
        """Encode a large response into segments, and count its errors."""
        counts: dict[int, int] = defaultdict(int)
        parts = yield from encode_in_steps(response, self.version, counts)
        request.stamps.errors = counts
        return answer(request.correlation, parts, flexible=self.flexible_response)


def counting(make: Callable[[Route], Route], errors: ErrorCounts) -> Callable[[Route], Route]:
    """Return a function that makes routes like `make`, with counts while `errors` is active."""

    def wrap(route: Route) -> Route:
        made = make(route)
        return counted(made) if errors.active else made

    return wrap


def counted(route: Route) -> CountedRoute:
    """Return the route with error counts."""
    encode = counting_encoder(route.api.response, route.version)
    return CountedRoute(**route_fields(route), encode_counting=encode)
