"""Which handler serves a key and version; made when first asked for."""

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


def _as_it_is(route: Route) -> Route:
    return route


@define(eq=False)
class Routes:
    """Routes by code (key and version as one number), as long as the registry does not change.

    put_on: puts interceptors around the handler of a route, and a price on its answers.
    """

    _registry: Registry
    _put_on: Callable[[Route], Route] = field(default=_as_it_is)
    _routes: dict[int, Route] = field(factory=dict, init=False)
    _generation: int = field(default=-1, init=False)

    def get(self, code: int) -> Route | None:
        """The route; None for a key or version that is not served."""
        if self._generation != self._registry.generation:
            self._routes.clear()
            self._generation = self._registry.generation
        return self._routes.get(code) or self._make(code)

    def largest(self, key: int) -> int:
        """Bytes of the largest request that the API declares; 0 if it declares none."""
        api = self._load(key)
        return 0 if api is None else api.largest

    def clear(self) -> None:
        """Make all anew, as they are asked for; a request in hand keeps the one that it has."""
        self._routes.clear()

    def _make(self, code: int) -> Route | None:
        key, version = key_of(code), version_of(code)
        api = self._load(key)
        if api is None or not api.first <= version <= api.last:
            return None
        route = self._routes[code_of(key, version)] = self._put_on(make_route(api, version))
        return route

    def _load(self, key: int) -> Api | None:
        """The API; None where its module cannot be imported, which ends connections, not us."""
        try:
            return self._registry.get(key)
        except Exception:
            logger.exception("an API that is listed cannot be served", key=key)
            return None
