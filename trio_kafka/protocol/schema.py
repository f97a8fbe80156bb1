"""Declaration of messages: one attrs class per message or struct, one line per field in wire order.

`@request`, `@response`, `@record` and `@data` declare messages, which have versions and codecs;
`@struct` declares their parts. The classes have slots, are mutable, compare by value, and take
their fields by keyword or in wire order. Unknown tagged fields are kept in `unknown_tags`. There is
no registry by key: a plugin may declare its own messages and reload them under another module name.
"""

import base64
import inspect
from collections.abc import Callable, Mapping
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NoReturn,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.protocol.fields import (
    ZERO_UUID,
    Field,
    Fixed,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct_,
    uint16,
    uint32,
    uuid,
)
from trio_kafka.protocol.primitives import NO_TAGS
from trio_kafka.protocol.versions import Range, parse_versions

__all__ = [
    "ZERO_UUID",
    "Field",
    "Fixed",
    "Message",
    "array",
    "boolean",
    "bytes_",
    "data",
    "fields_of",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "message_of",
    "record",
    "records",
    "request",
    "response",
    "string",
    "struct",
    "struct_",
    "uint16",
    "uint32",
    "unknown_tags",
    "uuid",
]

T = TypeVar("T")
_FACTORY: Final[type[Any]] = type(attrs.Factory(list))  # attrs has no public name for this class
MessageKind = Literal["request", "response", "record", "data"]


@frozen(kw_only=True)
class Message:
    """Description of a message class, stored as `cls.__message__`.

    key: of the API or the record; None for data.
    flexible: the versions with compact lengths and tagged fields.
    unstable: the versions that are not offered by default.
    response: the response class, once it is declared.
    """

    key: int | None
    name: str
    kind: MessageKind
    versions: Range
    flexible: Range
    unstable: Range
    fields: tuple[Field, ...]
    response: type[object] | None = None


def message_of(cls: type[object]) -> Message:
    """Return the description of a message class. Raises TypeError for other classes."""
    message = cls.__dict__.get("__message__")
    if not isinstance(message, Message):
        raise TypeError(f"{cls.__qualname__} is not a message")
    return message


def fields_of(cls: type[object]) -> tuple[Field, ...]:
    """Return the fields of a message or struct class in wire order. Raises TypeError."""
    fields = cls.__dict__.get("__fields__")
    if not isinstance(fields, tuple):
        raise TypeError(f"{cls.__qualname__} is not a message or struct")
    return fields


def default_of(field: Field) -> object:
    """Return the default of a field: a value, or an attrs.Factory of values."""
    if field.default is not ...:
        return field.default
    if field.kind == "array":
        return attrs.Factory(list)
    cls = field.part
    if "__shared__" not in cls.__dict__:
        cls.__shared__ = _shared_default(cls)
    return attrs.Factory(cls) if cls.__shared__ is None else cls.__shared__


def _shared_default(cls: type[T]) -> T | None:
    """Return an immutable instance of `cls` with all defaults, or None if it would hold lists.

    It equals, prints and copies (`attrs.evolve`) like any other instance of its class. To change
    the field of a message, assign a new struct to it. Most messages of some APIs never set such a
    field; creating one for each row took a third of their decoding time.
    """
    fields = fields_of(cls)
    if any(field.kind == "array" and field.default is ... for field in fields):
        return None

    def reject(self: object, name: str, *_: object) -> NoReturn:
        del self
        kind = cls.__name__
        raise AttributeError(
            f"{kind}.{name}: this default is shared and read-only, assign a new {kind} instead"
        )

    body = {
        "__slots__": (),
        "__fields__": fields,
        "__setattr__": reject,
        "__delattr__": reject,
        "__class__": property(lambda _: cls),  # attrs compares this class and creates copies of it
    }
    protected: type[T] = type(cls.__name__, (cls,), body)
    instance = object.__new__(protected)
    plain = cls()
    for name in (*(field.name for field in fields), "unknown_tags"):
        object.__setattr__(instance, name, getattr(plain, name))
    shared: T = instance
    return shared


def unknown_tags(part: object) -> Mapping[int, bytes]:
    """Return the unknown tagged fields of a message or struct, as bytes by tag."""
    tags: Mapping[int, bytes] = part.unknown_tags  # type: ignore[attr-defined]  # all have it
    return tags


@dataclass_transform()
def request(
    *, key: int, versions: str, flexible: str = "none", unstable: str = "none"
) -> Callable[[type[T]], type[T]]:
    """Declare a request. Its API key is 0 to 32767; keys of plugins begin at 10100."""

    def declare(cls: type[T]) -> type[T]:
        return _message(
            cls, "request", key, versions=versions, flexible=flexible, unstable=unstable
        )

    return declare


@dataclass_transform()
def response(
    to: type[Any], *, versions: str | None = None, flexible: str | None = None
) -> Callable[[type[T]], type[T]]:
    """Declare the response to a request; by default it has the versions of the request."""
    request = message_of(to)

    def declare(cls: type[T]) -> type[T]:
        response_cls = _message(cls, "response", request.key, versions=versions, flexible=flexible)
        own = response_cls.__message__  # type: ignore[attr-defined]  # set by _message
        response_cls.__message__ = attrs.evolve(  # type: ignore[attr-defined]  # as above
            own,
            versions=own.versions if versions else request.versions,
            flexible=own.flexible if flexible else request.flexible,
            unstable=request.unstable,
        )
        if any(field.name == "response" for field in request.fields):
            raise TypeError(f"{request.name}.response: this name is that of the response's class")
        to.__message__ = attrs.evolve(request, response=response_cls)
        to.response = response_cls
        return response_cls

    return declare


@dataclass_transform()
def record(*, key: int, versions: str, flexible: str = "none") -> Callable[[type[T]], type[T]]:
    """Declare a stored record, identified by its key within its topic."""

    def declare(cls: type[T]) -> type[T]:
        return _message(cls, "record", key, versions=versions, flexible=flexible)

    return declare


@dataclass_transform()
def data(*, versions: str, flexible: str = "none") -> Callable[[type[T]], type[T]]:
    """Declare a message without a key: a header, a control record's value, a state file."""

    def declare(cls: type[T]) -> type[T]:
        return _message(cls, "data", None, versions=versions, flexible=flexible)

    return declare


@dataclass_transform()
def struct(cls: type[T]) -> type[T]:
    """Declare a part of messages; it has the versions of the enclosing message."""
    return _declare(cls)


def _message(
    cls: type[T],
    kind: MessageKind,
    key: int | None,
    *,
    versions: str | None,
    flexible: str | None = "none",
    unstable: str = "none",
) -> type[T]:
    struct = _declare(cls)
    struct.__message__ = Message(  # type: ignore[attr-defined]  # what makes the class a message
        key=key,
        name=struct.__name__,
        kind=kind,
        versions=parse_versions(versions or "none"),
        flexible=parse_versions(flexible or "none"),
        unstable=parse_versions(unstable),
        fields=fields_of(struct),
    )
    return struct


def _declare(cls: type[T]) -> type[T]:
    """Make an attrs class of the fields in the body of `cls`. Raises TypeError for other lines."""
    fields = []
    attributes = {}
    for name, annotation in inspect.get_annotations(cls, eval_str=True).items():
        origin: object = get_origin(annotation)
        if origin is ClassVar:
            continue  # the response's class, for type checkers; set by `response`
        field = cls.__dict__.get(name)
        if not isinstance(field, Field):
            raise TypeError(f"{cls.__qualname__}.{name}: want a field such as int32()")
        _check_null(cls, name, annotation, field)
        fields.append(attrs.evolve(field, name=name))
        attributes[name] = attrs.field(default=default_of(field))
    attributes["unknown_tags"] = attrs.field(default=NO_TAGS, type=Mapping[int, bytes])
    cls.__repr__ = _show  # type: ignore[method-assign]  # attrs keeps what the class defines
    struct = attrs.define(cls, these=attributes, weakref_slot=False)
    struct.__fields__ = tuple(fields)  # type: ignore[attr-defined]  # read by fields_of
    return struct


def _check_null(cls: type[object], name: str, annotation: object, field: Field) -> None:
    null = field.nullable[1] >= field.nullable[0]
    admits = type(None) in get_args(annotation) or annotation in (None, Any)
    if null and not admits:
        raise TypeError(f"{cls.__qualname__}.{name} is nullable: its type must admit None")
    if not null and admits and field.default is not None and annotation is not Any:
        raise TypeError(f"{cls.__qualname__}.{name} admits None but is not nullable")


def _is_default(field: Field, value: object) -> bool:
    default = default_of(field)
    return bool(value == (default.factory() if isinstance(default, _FACTORY) else default))


def _show(self: Any) -> str:
    """Show fields that differ from their defaults; bytes may be secrets, so only their size."""
    shown = []
    for field in fields_of(self.__class__):
        value = getattr(self, field.name)
        if _is_default(field, value):
            continue
        if field.kind == "uuid":
            value = base64.urlsafe_b64encode(value).rstrip(b"=").decode()
        elif field.kind in {"bytes", "records"} and value is not None:
            value = f"<{len(value)} bytes>"
        else:
            value = repr(value)
        shown.append(f"{field.name}={value}")
    if self.unknown_tags:
        shown.append(f"unknown_tags={dict(self.unknown_tags)!r}")
    return f"{self.__class__.__name__}({', '.join(shown)})"
