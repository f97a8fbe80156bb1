"""Routes of a handler group: one per key and version, made on first use."""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import code_of, key_of, version_of
from trio_kafka.requests.api import Api
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Route, make_route

API_VERSIONS: Final = 18
logger: Final = get_logger(__name__)


def _unwrapped(route: Route) -> Route:
    return route


@define(eq=False)
class Routes:
    """Routes by code (key and version as one number), until the registry changes.

    wrap: adds interceptors, error counts and quotas to a route.
    """

    _registry: Registry
    _wrap: Callable[[Route], Route] = field(default=_unwrapped)
    _routes: dict[int, Route] = field(factory=dict, init=False)
    _generation: int = field(default=-1, init=False)

    def get(self, code: int) -> Route | None:
        """Return the route; None for a key or version that is not served."""
        if self._generation != self._registry.generation:
            self._routes.clear()
            self._generation = self._registry.generation
        return self._routes.get(code) or self._make(code)

    def largest(self, key: int) -> int:
        """Return the size in bytes of the API's largest request; 0 if it declares none."""
        api = self._load(key)
        return 0 if api is None else api.largest

    def clear(self) -> None:
        """Discard all routes; requests in flight keep theirs."""
        self._routes.clear()

    def _make(self, code: int) -> Route | None:
        key, version = key_of(code), version_of(code)
        api = self._load(key)
        if api is None or not api.first <= version <= api.last:
            return None
        route = self._routes[code_of(key, version)] = self._wrap(make_route(api, version))
        return route

    def _load(self, key: int) -> Api | None:
        """Return the API; None if its module cannot be imported, so only its requests fail."""
        try:
            return self._registry.get(key)
        except Exception:
            logger.exception("listed API not imported", key=key)
            return None
