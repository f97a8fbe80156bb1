"""Garbage is collected rarely while many modules are imported, and names are imported late."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Final

# Imported modules stay: collecting their objects again with each generation is a fifth of the
# first start in a process. The youngest generation is still collected, since every attrs class
# leaves one class behind as garbage.
_THRESHOLDS: Final = (5000, 1000, 1000)


@contextmanager
def rare_collections(*, ends: bool = False) -> Iterator[None]:
    """Collect garbage rarely during the block, in the whole process.

    ends: the process ends after the block. Without a collection of all that was imported, it takes
    a tenth less.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if ends:
            gc.freeze()


def late_names(package: str, modules: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """Return a `__getattr__` for a package, which imports its names on first use.

    modules: names by module of the package.
    """
    module_of = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with rare_collections():
            return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return get
