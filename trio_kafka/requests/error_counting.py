"""Routes while somebody wants to know which errors answers say, of all their parts.

Made in place of plain routes as long as that is so: nothing is paid for it else. Codes are counted
while an answer is encoded, so that nothing is walked twice, and what is made while it is written is
counted as well. An answer that is bytes already says itself what is in it.
Source: RequestChannel.updateErrorMetrics and AbstractResponse.errorCounts of Apache Kafka.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.network.request import Request
from trio_kafka.protocol.compiler import counting_encoder
from trio_kafka.requests.large_requests import encode_in_steps
from trio_kafka.requests.replies import Encoded, Route, facts_of
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.wire.server import Segments, answer

_NONE: Final[Mapping[int, int]] = {0: 1}


@define(eq=False)
class ErrorCounts:
    """Whether errors are counted; they stand on the stamps of each request then."""

    active: bool = field(default=False, init=False)
    _toggled: list[Callable[[], None]] = field(factory=list, init=False)

    def on_toggle(self, call: Callable[[], None]) -> None:
        """Call it whenever `active` has changed."""
        self._toggled.append(call)

    def turn(self, *, on: bool) -> None:
        """Count, or count no more; requests in hand end as they began."""
        if on is not self.active:
            self.active = on
            for call in self._toggled:
                call()


@frozen(kw_only=True)
class CountedRoute(Route):
    """encode_counting: what `encode` is, with a mapping of counts by code."""

    encode_counting: Callable[[Any, Callable[[Any], object], dict[int, int]], None]

    def write(self, request: Request, response: Any) -> Segments:
        """As of any route, and counts the errors of the answer."""
        if type(response) is Encoded:
            request.stamps.errors = _NONE if response.errors is None else response.errors
            return super().write(request, response)
        counts: dict[int, int] = defaultdict(int)
        parts: list[Any] = []
        self.encode_counting(response, parts.append, counts)
        request.stamps.errors = counts
        return answer(request.correlation, parts, flexible=self.flexible_response)

    def write_in_steps(self, request: Request, response: Any) -> Steps[Segments]:
        """As `write`, of a large response."""
        counts: dict[int, int] = defaultdict(int)
        parts = yield from encode_in_steps(response, self.version, counts)
        request.stamps.errors = counts
        return answer(request.correlation, parts, flexible=self.flexible_response)


def counting(make: Callable[[Route], Route], errors: ErrorCounts) -> Callable[[Route], Route]:
    """As `make`, and counts errors while somebody wants to know them."""

    def put_on(route: Route) -> Route:
        made = make(route)
        return counted(made) if errors.active else made

    return put_on


def counted(route: Route) -> CountedRoute:
    """The same route, with counts."""
    encode = counting_encoder(route.api.response, route.version)
    return CountedRoute(**facts_of(route), encode_counting=encode)
