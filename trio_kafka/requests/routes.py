"""Routes of a handler group: one per key and version, made on first use."""

from collections.abc import Callable
from typing import Final

from trio_kafka.introspect.log import get_logger
from trio_kafka.model import code_of, key_of, version_of
from trio_kafka.requests.api import Api
from trio_kafka.requests.registry import Registry
from trio_kafka.requests.replies import Route, make_route

API_VERSIONS: Final = 18
logger: Final = get_logger(__name__)


def _unwrapped(route: Route) -> Route:
    return route


class Routes(dict[int, Route | None]):
    """Routes by code (key and version as one number); None for one that is not served.

    A change of the registry, or `clear`, discards them; requests in flight keep theirs.
    wrap: adds interceptors, error counts and quotas to a route.
    """

    def __init__(self, registry: Registry, wrap: Callable[[Route], Route] = _unwrapped) -> None:
        super().__init__()
        self._registry = registry
        self._wrap = wrap
        registry.on_change(self.clear)

    def __missing__(self, code: int) -> Route | None:
        """Return the route, made on first use."""
        key, version = key_of(code), version_of(code)
        api = self._load(key)
        if api is None or not api.first <= version <= api.last:
            return None  # not kept: clients choose the code
        route = self[code_of(key, version)] = self._wrap(make_route(api, version))
        return route

    def largest(self, key: int) -> int:
        """Return the size in bytes of the API's largest request; 0 if it declares none."""
        api = self._load(key)
        return 0 if api is None else api.largest

    def _load(self, key: int) -> Api | None:
        """Return the API; None if its module cannot be imported, so only its requests fail."""
        try:
            return self._registry.get(key)
        except Exception:
            logger.exception("listed API not imported", key=key)
            return None
