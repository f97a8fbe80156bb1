"""Registry of a broker's APIs by key, found through entry points.

An entry point of the group `trio_kafka.apis` names a module, or a package whose modules hold
functions marked `@api`. There is no list of handlers: a new one is one file.

A package may list the APIs of its modules in a tuple `LISTED`. A listed module is imported on the
first request of its key, so the start does not depend on the number of APIs. A module that is not
listed is imported at once, and its errors are reported at the start.
"""

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Final, TypeVar

from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.requests.api import Api, Listing, api_of

A = TypeVar("A", bound=Listing)
GROUP: Final = "trio_kafka.apis"
LISTED: Final = "LISTED"  # (key, name, first, last, module of the package[, newest])


class DuplicateApiError(Exception):
    """Two handlers of the same API key."""


class StaleListingError(Exception):
    """Listed API that its module does not have."""


class InstalledApiError(Exception):
    """Entry point that cannot be served; the message names it and the reason."""


@define(eq=False)
class Registry:
    """Handlers by API key.

    unstable: serve unstable versions too.
    generation: number that grows with every change.
    cache: values that handlers keep for this registry, by keys of their own; every change clears
        it.
    """

    unstable: bool = field(default=False, kw_only=True)
    generation: int = field(default=0, init=False)
    cache: dict[Hashable, Any] = field(factory=dict, init=False)
    _on_change: list[Callable[[], None]] = field(factory=list, init=False)
    _apis: dict[int, Listing] = field(factory=dict, init=False)
    _narrowed: Mapping[int, tuple[int, int]] = field(factory=dict, init=False)

    def on_change(self, call: Callable[[], None]) -> None:
        """Add a callback for changes."""
        self._on_change.append(call)

    def add(self, api: Listing) -> None:
        """Add an API; adding it again changes nothing.

        Raises DuplicateApiError if another handler has the key.
        """
        api = api.with_unstable() if self.unstable else api
        there = self._apis.get(api.key)
        if there is not None:
            either_is_listed = not (isinstance(api, Api) and isinstance(there, Api))
            if there == api or (either_is_listed and there.listing == api.listing):
                return
            raise DuplicateApiError(_two_handlers(api, there))
        self._apis[api.key] = api
        self._changed()

    def remove(self, key: int) -> None:
        """Remove an API. Raises KeyError if it is not served."""
        del self._apis[key]
        self._changed()

    def swap(self, leaving: Iterable[int], coming: Iterable[Api]) -> None:
        """Remove some keys and add some APIs in one step, so that every request finds one of them.

        Raises DuplicateApiError, and then changes nothing.
        """
        apis = {key: api for key, api in self._apis.items() if key not in set(leaving)}
        for api in coming:
            offered = api.with_unstable() if self.unstable else api
            if api.key in apis:
                raise DuplicateApiError(_two_handlers(api, apis[api.key]))
            apis[api.key] = offered
        self._apis = apis
        self._changed()

    def narrow(self, versions: Mapping[int, tuple[int, int]]) -> None:
        """Serve APIs only in the given versions (first, last), by key, and others in all versions.

        An API without a version in that range is not served.
        """
        self._narrowed = versions
        self._changed()

    def get(self, key: int) -> Api | None:
        """Return the API; import its module. Raises StaleListingError and errors of the import."""
        listing = self._apis.get(key)
        if listing is None:
            return None
        if not isinstance(listing, Api):
            listing = self._apis[key] = self._load(listing)
        return self._narrow(listing)

    def with_unstable(self) -> "Registry":
        """Return a copy that serves unstable versions too."""
        return self.copy(unstable=True)

    def copy(self, *, unstable: bool = False) -> "Registry":
        """Return a copy with the same APIs."""
        copy = Registry(unstable=self.unstable or unstable)
        for api in self.with_all_versions():
            copy.add(api)
        return copy

    def __iter__(self) -> Iterator[Listing]:
        """Iterate over the served APIs by key, without imports."""
        narrowed = [self._narrow(api) for api in self.with_all_versions()]
        return iter([api for api in narrowed if api is not None])

    def with_all_versions(self) -> list[Listing]:
        """Return all APIs by key, with the versions that `narrow` excludes."""
        return [self._apis[key] for key in sorted(self._apis)]

    def __len__(self) -> int:
        return len(self._apis)

    @property
    def names(self) -> dict[int, str]:
        """Names of the served APIs, by key."""
        return {api.key: api.name for api in self}

    def add_module(self, module: ModuleType) -> None:
        """Add every handler that a module, or any module of a package, defines."""
        for value in vars(module).values():
            api = api_of(value)
            if api is not None and api.source == module.__name__:
                self.add(api)
        listed = _listings(module)
        for submodule in pkgutil.iter_modules(
            getattr(module, "__path__", ()), f"{module.__name__}."
        ):
            if submodule.name not in listed:
                self.add_module(importlib.import_module(submodule.name))
            for listing in listed.get(submodule.name, ()):
                self.add(listing)

    def _narrow(self, api: A) -> A | None:
        """Return the API with its remaining versions; None if there is none."""
        if api.key not in self._narrowed:
            return api
        first, last = self._narrowed[api.key]
        first, last = max(first, api.first), min(last, api.last)
        return evolve(api, first=first, last=last) if first <= last else None

    def _load(self, listing: Listing) -> Api:
        """Import a listed API. Raises StaleListingError if its module has none, and ImportError."""
        module = importlib.import_module(listing.source)
        apis = [api for value in vars(module).values() if (api := api_of(value)) is not None]
        for api in apis:
            offered = api.with_unstable() if self.unstable else api
            if offered.listing == listing:
                return offered
        raise StaleListingError(
            f"{listing.source} has {[api.listing for api in apis]}, want {listing} as listed:"
            " update LISTED of its package"
        )

    def _changed(self) -> None:
        self.generation += 1
        self.cache.clear()
        for call in self._on_change:
            call()


def _listings(module: ModuleType) -> dict[str, list[Listing]]:
    """Return the listings of a package, by full name of the module."""
    listings: dict[str, list[Listing]] = {}
    for key, name, first, last, place, *unstable in getattr(module, LISTED, ()):
        source = f"{module.__name__}.{place}"
        newest = unstable[0] if unstable else last
        listings.setdefault(source, []).append(Listing(key, name, first, last, newest, source))
    return listings


def _two_handlers(api: Listing, there: Listing) -> str:
    return f"API key {api.key} ({api.name}) has two handlers: in {there.source} and in {api.source}"


def installed_apis(group: str = GROUP) -> Registry:
    """Return a registry of the installed APIs. Raises InstalledApiError."""
    registry = Registry()
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        try:
            module = point.load()
            if not isinstance(module, ModuleType):
                raise TypeError(f"want a module, not {module!r}")
            registry.add_module(module)
        except Exception as error:
            named = f"entry point {point.name} = {point.value} of {group}"
            kind = "" if isinstance(error, DuplicateApiError) else f"{type(error).__name__}: "
            raise InstalledApiError(f"{named}: {kind}{error}") from error
    return registry
