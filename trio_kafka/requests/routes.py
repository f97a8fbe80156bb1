"""Which handler serves a key and version; made when first asked for."""

from typing import Final

from attrs import define, field

from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Route, make_route
from trio_kafka.wire.server import code_of, key_of, version_of

API_VERSIONS: Final = 18


@define(eq=False)
class Routes:
    """Routes by code (key and version as one number), as long as the registry does not change."""

    _registry: Registry
    _routes: dict[int, Route] = field(factory=dict, init=False)
    _generation: int = field(default=-1, init=False)

    def get(self, code: int) -> Route | None:
        """The route; None for a key or version that is not served."""
        if self._generation != self._registry.generation:
            self._routes.clear()
            self._generation = self._registry.generation
        return self._routes.get(code) or self._make(code)

    def _make(self, code: int) -> Route | None:
        key, version = key_of(code), version_of(code)
        api = self._registry.get(key)
        if api is None or not api.first <= version <= api.last:
            return None
        route = self._routes[code_of(key, version)] = make_route(api, version)
        return route
