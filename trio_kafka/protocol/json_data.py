"""Conversion of messages to JSON-ready data and back, for tools, state files and displays.

A uuid is written as Kafka's 22 characters of base64url, bytes and records as base64, unknown tags
as a dict of tag to base64. Field names are ours, or Kafka's camelCase (`names="kafka"`). With a
version, only the fields of that version appear; its tagged fields appear only with a non-default
value, as in Kafka's own JSON.
"""

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal, TypeVar

from cattrs import BaseValidationError, Converter, transform_error
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from trio_kafka.protocol.compiler import encoder
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of, message_of
from trio_kafka.protocol.texts import read_uuid, show_uuid, to_camel
from trio_kafka.protocol.versions import covers

T = TypeVar("T")
U = TypeVar("U")
Names = Literal["python", "kafka"]
Form = tuple[Names, int | None, bool]  # field naming, version or None, flexible?


def to_data(message: object, *, names: Names = "python", version: int | None = None) -> Any:
    """Return the fields of a message or struct as a dict of JSON types.

    Raises EncodeError if the message cannot be encoded in `version`.
    """
    flexible = False
    if version is not None:
        encoder(type(message), version)(message, _ignore)
        flexible = covers(message_of(type(message)).flexible, version)
    return _converter((names, version, flexible)).unstructure(message)


def from_data(cls: type[T], data: object, *, names: Names = "python") -> T:
    """Build a message from the output of `to_data`; missing fields get their defaults.

    Raises ValueError, which names each field that is unknown or of the wrong type.
    """
    try:
        return _converter((names, None, False)).structure(data, cls)
    except BaseValidationError as error:
        raise ValueError("; ".join(transform_error(error))) from error


def _ignore(_: object) -> None:
    """Discard a segment; used where only encoding errors matter."""


def _show_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _read_bytes(text: object) -> bytes:
    if not isinstance(text, str):
        raise TypeError(f"{text!r}: want a string of base64")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text[:40]!r} is not base64") from error


def _show_tags(tags: Mapping[int, bytes]) -> dict[str, str]:
    return {str(tag): _show_bytes(value) for tag, value in tags.items()}


def _read_tags(tags: Mapping[str, object], _: object) -> dict[int, bytes]:
    return {int(tag): _read_bytes(value) for tag, value in tags.items()}


_SHOW: Final[dict[str, Callable[[bytes], str]]] = {
    "uuid": show_uuid,
    "bytes": _show_bytes,
    "records": _show_bytes,
}
_READ: Final[dict[str, Callable[[object], bytes]]] = {
    "uuid": read_uuid,
    "bytes": _read_bytes,
    "records": _read_bytes,
}


def _some(call: Callable[[T], U], value: T | None, _: object = None) -> U | None:
    return None if value is None else call(value)


def _each(call: Callable[[T], U], values: Iterable[T] | None, _: object = None) -> list[U] | None:
    return None if values is None else [call(value) for value in values]


def _hook(calls: Mapping[str, Callable[..., object]], field: Field) -> Callable[..., object] | None:
    """Return the text converter of a bytes-like field or array, None for other kinds."""
    if field.kind in calls:
        return partial(_some, calls[field.kind])
    if field.of is not None and field.of.kind in calls:
        return partial(_each, calls[field.of.kind])
    return None


def _is_declared(cls: object) -> bool:
    return isinstance(cls, type) and "__fields__" in cls.__dict__


def _exact(kind: type) -> Callable[[object, object], object]:
    """Return a hook that accepts only this type instead of coercing: bool("no") would be True."""

    def check(value: object, _: object) -> object:
        if type(value) is not kind:
            raise TypeError(f"{value!r}: want {kind.__name__}")
        return value

    return check


def _float(value: object, _: object) -> float:
    if type(value) is int or type(value) is float:
        return float(value)
    raise TypeError(f"{value!r}: want a number")


@lru_cache(maxsize=64)
def _converter(form: Form) -> Converter:
    """Return the converter of a form; it keeps one generated function for each class."""
    converter = Converter()
    for kind in (int, str, bool):
        converter.register_structure_hook(kind, _exact(kind))
    converter.register_structure_hook(float, _float)
    converter.register_unstructure_hook_factory(
        _is_declared, lambda cls: _writer(cls, converter, form)
    )
    converter.register_structure_hook_factory(
        _is_declared, lambda cls: _reader(cls, converter, form)
    )
    return converter


def _name(field: str, names: Names) -> str:
    return to_camel(field) if names == "kafka" else field


def _writer(cls: type[object], converter: Converter, form: Form) -> Callable[[object], object]:
    names, version, flexible = form
    overrides: dict[str, Any] = {
        field.name: override(
            rename=_name(field.name, names),
            omit=version is not None and not covers(field.versions, version),
            omit_if_default=version is not None and flexible and covers(field.tagged, version),
            unstruct_hook=_hook(_SHOW, field),
        )
        for field in fields_of(cls)
    }
    overrides["unknown_tags"] = override(
        rename=_name("unknown_tags", names), omit_if_default=True, unstruct_hook=_show_tags
    )
    return make_dict_unstructure_fn(cls, converter, **overrides)


def _reader(
    cls: type[object], converter: Converter, form: Form
) -> Callable[[object, object], object]:
    overrides: dict[str, Any] = {
        field.name: override(rename=_name(field.name, form[0]), struct_hook=_hook(_READ, field))
        for field in fields_of(cls)
    }
    overrides["unknown_tags"] = override(
        rename=_name("unknown_tags", form[0]), struct_hook=_read_tags
    )
    structure = make_dict_structure_fn(cls, converter, _cattrs_forbid_extra_keys=True, **overrides)

    def read(shown: object, kind: object) -> object:
        if not isinstance(shown, dict):
            raise ValueError(f"{cls.__name__}: want a dict, not {shown!r}")  # noqa: TRY004 - same error type for all invalid input
        return structure(shown, kind)

    return read
