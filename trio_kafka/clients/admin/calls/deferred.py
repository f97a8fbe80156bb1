"""Plans whose modules are imported when they are first called.

All messages take a quarter of a second to import, and a command needs few of them.
"""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from trio_kafka.attributes import frozen
from trio_kafka.rare_collections import rare_collections


@frozen
class DeferredPlan:
    """Function of a module that is imported later."""

    module: str
    name: str

    def resolve(self) -> Callable[..., object]:
        """Import the module; return its function."""
        with rare_collections():
            function = getattr(import_module(self.module), self.name)
        return cast("Callable[..., object]", function)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.resolve()(*args, **kwargs)


@frozen
class DeferredModule:
    """Module that is imported later: each public attribute is a `DeferredPlan`."""

    path: str

    def __getattr__(self, name: str) -> DeferredPlan:
        if name.startswith("_"):
            raise AttributeError(name)
        return DeferredPlan(self.path, name)
