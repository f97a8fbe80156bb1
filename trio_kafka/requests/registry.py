"""The APIs of a broker, by key; found through entry points.

An entry point of the group `trio_kafka.apis` names a module or a package whose modules hold
functions marked `@api`.
There is no list of handlers: a new one is one file.

A package may say in a tuple `LISTED` what its modules serve; such a module is imported on the first
request of its key. So a broker that serves all of Kafka's APIs starts as fast as one that serves
few. A module that is not listed is imported at once, and what is wrong with it is told at the
start.
"""

import importlib
import pkgutil
from collections.abc import Hashable, Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Final, TypeVar

from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.requests.api import Api, Listing, api_of

A = TypeVar("A", bound=Api | Listing)
GROUP: Final = "trio_kafka.apis"
LISTED: Final = "LISTED"  # (key, name, first, last, module of the package[, newest])


class DuplicateApiError(Exception):
    """Two handlers want the same API key."""


class StaleListingError(Exception):
    """A module does not have the API that its package lists."""


class InstalledApiError(Exception):
    """What an entry point names cannot be served; the message names it and says why."""


@define(eq=False)
class Registry:
    """Handlers by API key; `generation` grows with every change.

    unstable: versions that are unstable are served too.
    kept: what handlers keep for this registry alone, by keys of their own; emptied by every change.
    """

    unstable: bool = field(default=False, kw_only=True)
    generation: int = field(default=0, init=False)
    kept: dict[Hashable, Any] = field(factory=dict, init=False)
    _apis: dict[int, Api | Listing] = field(factory=dict, init=False)
    _narrowed: Mapping[int, tuple[int, int]] = field(factory=dict, init=False)

    def add(self, api: Api | Listing) -> None:
        """Raises DuplicateApiError if another handler has the key; the same one again is no
        change.
        """
        api = api.with_unstable() if self.unstable else api
        there = self._apis.get(api.key)
        if there is not None:
            if there == api or there == _listing(api) or _listing(there) == api:
                return
            raise DuplicateApiError(_claimed(api, there))
        self._apis[api.key] = api
        self._changed()

    def remove(self, key: int) -> None:
        """Raises KeyError if nobody serves it."""
        del self._apis[key]
        self._changed()

    def swap(self, leaving: Iterable[int], coming: Iterable[Api]) -> None:
        """Some keys go, others come, in one step: no request finds neither.

        Raises DuplicateApiError, and has then changed nothing.
        """
        apis = {key: one for key, one in self._apis.items() if key not in set(leaving)}
        for api in coming:
            offered = api.with_unstable() if self.unstable else api
            if api.key in apis:
                raise DuplicateApiError(_claimed(api, apis[api.key]))
            apis[api.key] = offered
        self._apis = apis
        self._changed()

    def narrow(self, versions: Mapping[int, tuple[int, int]]) -> None:
        """Serve these APIs, by key, in no other versions (first, last) from now on, others in all
        of theirs. One that has none of them is served no more.
        """
        self._narrowed = versions
        self._changed()

    def get(self, key: int) -> Api | None:
        """The API, its module imported. Raises StaleListingError, and what the import raises."""
        found = self._apis.get(key)
        if isinstance(found, Listing):
            found = self._apis[key] = self._load(found)
        return None if found is None else self._narrow(found)

    def with_unstable(self) -> "Registry":
        """A registry of its own, with the same APIs, that serves their unstable versions too."""
        return self.copy(unstable=True)

    def copy(self, *, unstable: bool = False) -> "Registry":
        """A registry of its own with the same APIs."""
        made = Registry(unstable=self.unstable or unstable)
        for api in self.unnarrowed():
            made.add(api)
        return made

    def __iter__(self) -> Iterator[Api | Listing]:
        """What is served, in the order of the keys; imports nothing."""
        narrowed = [self._narrow(api) for api in self.unnarrowed()]
        return iter([api for api in narrowed if api is not None])

    def unnarrowed(self) -> list[Api | Listing]:
        """As iteration, with all versions of all APIs."""
        return [self._apis[key] for key in sorted(self._apis)]

    def __len__(self) -> int:
        return len(self._apis)

    @property
    def names(self) -> dict[int, str]:
        return {api.key: api.name for api in self}

    def add_module(self, module: ModuleType) -> None:
        """Every handler that the module defines, or the modules of the package, however deep."""
        for value in vars(module).values():
            api = api_of(value)
            if api is not None and api.source == module.__name__:
                self.add(api)
        listed = _listings(module)
        for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
            if found.name not in listed:
                self.add_module(importlib.import_module(found.name))
            for listing in listed.get(found.name, ()):
                self.add(listing)

    def _narrow(self, api: A) -> A | None:
        """The API in the versions that are left to it."""
        if api.key not in self._narrowed:
            return api
        first, last = self._narrowed[api.key]
        first, last = max(first, api.first), min(last, api.last)
        return evolve(api, first=first, last=last) if first <= last else None

    def _load(self, listing: Listing) -> Api:
        """Import what is listed. Raises StaleListingError if it is not there, ImportError."""
        module = importlib.import_module(listing.source)
        made = [api for value in vars(module).values() if (api := api_of(value)) is not None]
        for api in made:
            offered = api.with_unstable() if self.unstable else api
            if offered.listing == listing:
                return offered
        raise StaleListingError(
            f"{listing.source} is listed with {listing}, it has {[api.listing for api in made]}"
        )

    def _changed(self) -> None:
        self.generation += 1
        self.kept.clear()


def _listings(module: ModuleType) -> dict[str, list[Listing]]:
    """What a package lists, by full name of the module."""
    found: dict[str, list[Listing]] = {}
    for key, name, first, last, place, *unstable in getattr(module, LISTED, ()):
        source = f"{module.__name__}.{place}"
        newest = unstable[0] if unstable else last
        found.setdefault(source, []).append(Listing(key, name, first, last, newest, source))
    return found


def _claimed(api: Api | Listing, there: Api | Listing) -> str:
    return f"API key {api.key} ({api.name}) has two handlers: in {there.source} and in {api.source}"


def _listing(api: Api | Listing) -> Listing:
    return api if isinstance(api, Listing) else api.listing


def installed_apis(group: str = GROUP) -> Registry:
    """A registry of what is installed. Raises InstalledApiError."""
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
