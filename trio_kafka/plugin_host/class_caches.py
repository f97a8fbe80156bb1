"""Caches of `typing`, which keep classes alive: `Final[list[Thing]]` is kept, and with it `Thing`.

Through the class, such a cache keeps the whole generation of a plugin. `typing` keeps them in
`functools.lru_cache`, whose objects can be cleared; a cleared cache costs its next user some µs.
They are found by following references from the module, because `typing` has no name for them that
others may use.
"""

import functools
import gc
import sys
from collections.abc import Iterator
from types import CellType, FunctionType, ModuleType
from typing import Final, Protocol

_CACHE: Final = type(functools.cache(lambda: None))
_MODULES: Final = ("typing", "typing_extensions")
_CONTAINERS: Final = (CellType, classmethod, dict, list, staticmethod, tuple)


class Cache(Protocol):
    """Object that `functools.lru_cache` returns."""

    def cache_clear(self) -> None: ...


def caches_of(module: ModuleType) -> Iterator[Cache]:
    """Yield the caches that a module's functions and classes hold; takes some ms."""
    seen = {id(vars(module))}
    unvisited: list[object] = [vars(module)]
    while unvisited:
        for reference in gc.get_referents(unvisited.pop()):
            if id(reference) in seen:
                continue
            seen.add(id(reference))
            if isinstance(reference, _CACHE):
                yield reference
            elif _belongs_to(module.__name__, reference):
                unvisited.append(reference)


def _belongs_to(module: str, reference: object) -> bool:
    """Return whether an object may hold a cache of the module, itself or by what it refers to."""
    if isinstance(reference, type | FunctionType):
        return reference.__module__ == module
    return isinstance(reference, _CONTAINERS) or type(reference).__module__ == module


@functools.cache
def _caches_of(name: str) -> tuple[Cache, ...]:
    return tuple(caches_of(sys.modules[name]))


def find_typing_caches() -> list[Cache]:
    """Find the caches, once, so that `clear_typing_caches` takes no time."""
    return [cache for name in _MODULES if name in sys.modules for cache in _caches_of(name)]


def clear_typing_caches() -> None:
    """Clear the caches that `typing` keeps of classes."""
    for cache in find_typing_caches():
        cache.cache_clear()
