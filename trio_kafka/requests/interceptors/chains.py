"""The chain of a route: interceptors around its handler, in the place of the handler.

Whoever calls the handler of a route need not know that there is a chain: it takes what the handler
takes, and gives what the handler gives. A route without interceptors is left as it is. Neighbouring
`before`s and `after`s are one link; an `around` is one of its own (`requests.interceptors.around`).
"""

from typing import Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.requests.interceptors.around import Around
from trio_kafka.requests.interceptors.before_after import Link, Means
from trio_kafka.requests.interceptors.errands import Errands
from trio_kafka.requests.interceptors.registry import Interception, Interceptors
from trio_kafka.requests.replies import Route

AROUND: Final = "around"


@frozen(kw_only=True)
class Chains:
    """Of the routes of a group of handlers."""

    interceptors: Interceptors
    means: Means
    errands: Errands

    def put_on(self, route: Route) -> Route:
        """The same route behind the interceptors that it has now; without any it is left alone."""
        handler, waits, parks = route.handler, route.waits, False
        neighbours: list[Interception] = []

        def link() -> None:
            nonlocal handler
            if neighbours:
                handler = Link(route, handler, neighbours[::-1], self.means, waits=waits).serve
                neighbours.clear()

        for one in reversed(self.interceptors.of(route.api)):
            if one.kind == AROUND:
                link()
                around = Around(
                    route,
                    one,
                    handler,
                    self.means,
                    self.errands,
                    inner_waits=waits,
                    inner_parks=parks,
                )
                handler, waits, parks = around.serve, False, True
            else:
                neighbours.append(one)
        link()
        return route if handler is route.handler else evolve(route, handler=handler, waits=waits)
