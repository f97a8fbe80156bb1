"""`define` and `frozen` of attrs, with one shared `__repr__`.

attrs generates and compiles a `__repr__` for each class; for 300 classes this takes a tenth of the
start.
"""

from collections.abc import Callable
from functools import partial
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

import attrs

__all__ = ["define", "frozen"]

if TYPE_CHECKING:
    from attrs import define, frozen
else:

    def define(cls: type | None = None, **options: Any) -> Any:
        """Define a mutable class, as `attrs.define`."""
        return _made(attrs.define, cls, options)

    def frozen(cls: type | None = None, **options: Any) -> Any:
        """Define an immutable class, as `attrs.frozen`."""
        return _made(attrs.frozen, cls, options)


def _made(make: Callable[..., Any], cls: Any, options: dict[str, Any]) -> Any:
    if cls is None:
        return partial(_made, make, options=options)
    if options.get("repr", True) and "__repr__" not in cls.__dict__:
        cls.__repr__ = show  # attrs keeps a method that the class defines
    return make(cls, **options)


@recursive_repr()
def show(self: Any) -> str:
    """Return the class name and fields as attrs does, without fields of `repr=False`."""
    shown = []
    for one in attrs.fields(type(self)):
        if one.repr:
            value = getattr(self, one.name, attrs.NOTHING)
            shown.append(f"{one.name}={one.repr(value) if callable(one.repr) else repr(value)}")
    name = type(self).__qualname__.rpartition(">.")[2]
    return f"{name}({', '.join(shown)})"
