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

    def define(cls: type | None = None, **options: object) -> object:
        """Define a mutable class, as `attrs.define`."""
        return _make_class(attrs.define, cls, options)

    def frozen(cls: type | None = None, **options: object) -> object:
        """Define an immutable class, as `attrs.frozen`."""
        return _make_class(attrs.frozen, cls, options)


def _make_class(make: Callable[..., object], cls: Any, options: dict[str, object]) -> object:
    if cls is None:
        return partial(_make_class, make, options=options)
    if options.get("repr", True) and "__repr__" not in cls.__dict__:
        cls.__repr__ = show  # attrs keeps a method that the class defines
    return make(cls, **options)


@recursive_repr()
def show(self: attrs.AttrsInstance) -> str:
    """Return the class name and fields as attrs does, without fields of `repr=False`."""
    shown = []
    for attribute in attrs.fields(type(self)):
        if attribute.repr:
            value = getattr(self, attribute.name, attrs.NOTHING)
            text = attribute.repr(value) if callable(attribute.repr) else repr(value)
            shown.append(f"{attribute.name}={text}")
    name = type(self).__qualname__.rpartition(">.")[2]
    return f"{name}({', '.join(shown)})"
