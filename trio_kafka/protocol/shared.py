"""Shared, immutable default instances of struct fields.

Most messages of some APIs never set such a field; creating one for each row took a third of their
decoding time. To change the field of a message, assign a new struct to it.
"""

from typing import Any, NoReturn, TypeVar

from trio_kafka.protocol.fields import Field

T = TypeVar("T")


def shared_default(cls: type[T], fields: tuple[Field, ...]) -> T | None:
    """Return an immutable instance of `cls` with all defaults, or None if it would hold lists.

    It equals, prints and copies (`attrs.evolve`) like any other instance of its class.
    """
    if any(field.kind == "array" and field.default is ... for field in fields):
        return None

    def refuse(self: Any, name: str, *_: Any) -> NoReturn:
        del self
        kind = cls.__name__
        raise AttributeError(
            f"{kind}.{name}: this default is shared and read-only, assign a new {kind} instead"
        )

    body = {
        "__slots__": (),
        "__fields__": fields,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__class__": property(lambda _: cls),  # attrs compares this class and creates copies of it
    }
    protected: Any = type(cls.__name__, (cls,), body)
    made: Any = object.__new__(protected)
    plain = cls()
    for name in (*(field.name for field in fields), "unknown_tags"):
        object.__setattr__(made, name, getattr(plain, name))
    shared: T = made
    return shared
