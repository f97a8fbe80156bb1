"""Chain of a route: the interceptors around its handler, in the place of the handler.

A chain takes and returns what a handler does, so callers of a route do not depend on it. A route
without interceptors stays unchanged. Adjacent `before`s and `after`s are one link. Each `around` is
a link of its own and makes its route async.
"""

from typing import Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.requests.interceptors.around import Around
from trio_kafka.requests.interceptors.before_after import BeforeAfter, ChainDependencies
from trio_kafka.requests.interceptors.registry import Interception, Interceptors
from trio_kafka.requests.replies import Route

AROUND: Final = "around"


@frozen(kw_only=True)
class Chains:
    """Chains of a handler group's routes."""

    interceptors: Interceptors
    dependencies: ChainDependencies

    def wrap(self, route: Route) -> Route:
        """Return the route behind its current interceptors; itself if there are none."""
        handler, waits = route.handler, route.waits
        adjacent: list[Interception] = []

        def add_link() -> None:
            nonlocal handler
            if adjacent:
                layers = adjacent[::-1]
                handler = BeforeAfter(route, handler, layers, self.dependencies, waits=waits).serve
                adjacent.clear()

        for interception in reversed(self.interceptors.of(route.api)):
            if interception.kind == AROUND:
                add_link()
                handler = Around(
                    route, interception, handler, self.dependencies, inner_waits=waits
                ).serve
                waits = True
            else:
                adjacent.append(interception)
        add_link()
        return route if handler is route.handler else evolve(route, handler=handler, waits=waits)
