"""The default of a struct field: one instance for all messages that say nothing else.

Most messages of some APIs never set such a field, and making one for each row was a third of their
decoding. As it is shared it cannot be changed: assign another struct to the field instead.
"""

from typing import Any, NoReturn, TypeVar

from trio_kafka.protocol.fields import Field

T = TypeVar("T")


def shared_default(cls: type[T], fields: tuple[Field, ...]) -> T | None:
    """An instance of `cls` with defaults that nobody can change; None where it holds lists.

    It equals, shows and copies (`attrs.evolve`) as any other instance of its class.
    """
    if any(field.kind == "array" and field.default is ... for field in fields):
        return None

    def refuse(self: Any, name: str, *_: Any) -> NoReturn:
        del self
        kind = cls.__name__
        raise AttributeError(f"{kind}.{name}: this default is shared, assign a new {kind} instead")

    body = {
        "__slots__": (),
        "__fields__": fields,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__class__": property(lambda _: cls),  # what attrs compares, and makes copies of
    }
    protected: Any = type(cls.__name__, (cls,), body)
    made: Any = object.__new__(protected)
    plain = cls()
    for name in (*(field.name for field in fields), "unknown_tags"):
        object.__setattr__(made, name, getattr(plain, name))
    shared: T = made
    return shared
