"""The APIs of a broker, by key; found through entry points.

An entry point of the group `trio_kafka.apis` names a module or a package whose modules hold
functions marked `@api`.
There is no list of handlers: a new one is one file.
"""

import importlib
import pkgutil
from collections.abc import Hashable, Iterator
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, Final

from attrs import define, field

from trio_kafka.requests.api import Api, api_of

GROUP: Final = "trio_kafka.apis"


class DuplicateApiError(Exception):
    """Two handlers want the same API key."""


@define(eq=False)
class Registry:
    """Handlers by API key; `generation` grows with every change.

    kept: what handlers keep for this registry alone, by keys of their own; emptied by every change.
    """

    generation: int = field(default=0, init=False)
    kept: dict[Hashable, Any] = field(factory=dict, init=False)
    _apis: dict[int, Api] = field(factory=dict, init=False)

    def add(self, api: Api) -> None:
        """Raises DuplicateApiError if another handler has the key; the same one again is no
        change.
        """
        there = self._apis.get(api.key)
        if there is not None:
            if there == api:
                return
            raise DuplicateApiError(
                f"API key {api.key} ({api.name}) has two handlers:"
                f" in {there.source} and in {api.source}"
            )
        self._apis[api.key] = api
        self._changed()

    def remove(self, key: int) -> None:
        """Raises KeyError if nobody serves it."""
        del self._apis[key]
        self._changed()

    def get(self, key: int) -> Api | None:
        return self._apis.get(key)

    def __iter__(self) -> Iterator[Api]:
        """In the order of the keys."""
        return iter([self._apis[key] for key in sorted(self._apis)])

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
        for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}."):
            self.add_module(importlib.import_module(found.name))

    def _changed(self) -> None:
        self.generation += 1
        self.kept.clear()


def installed_apis(group: str = GROUP) -> Registry:
    """A registry of what is installed. Raises DuplicateApiError, ImportError."""
    registry = Registry()
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        module = point.load()
        if not isinstance(module, ModuleType):
            raise TypeError(f"entry point {point.name} of {group}: want a module, not {module!r}")
        registry.add_module(module)
    return registry
