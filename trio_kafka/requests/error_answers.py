"""Generic error response, built from the tables of request and response.

If the response has an error code of its own, that is set. Otherwise each item of the request's
arrays gets an item in the response's array of the same depth, with the fields of the same name. The
error code is set in each innermost item that has one. An API for which this is impossible needs an
error response of its own (`@api(..., error=)`), else the connection is closed. Many items become a
lazy array.
"""

from typing import Any, Final

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.size_check import MANY
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.lazy_arrays import lazily

_CODES: Final = ("error_code", "partition_error_code")
_MESSAGE: Final = "error_message"
# Fields whose value beside an error is not their default.
_UNKNOWN: Final = {"base_offset": -1}
# Different names of the same thing in messages.
_SYNONYMS: Final = (
    ("partition_index", "partition", "partition_id", "index"),
    ("name", "topic", "topic_name", "user"),
)


def generic_error_answer(
    request: object, response: type[object], version: int, code: ErrorCode, message: str | None
) -> object:
    """Return a response of class `response` with `code` for the whole request, or None.

    None means that the response cannot carry the error, or that the request wants no response
    (acks=0). In both cases the closed connection tells the client.
    """
    if not wants_answer(request):
        return None
    return _Filling(version, int(code), message).fill(request, response)


def wants_answer(request: object) -> bool:
    """Return whether the client waits for a response, which it does not with acks=0."""
    return getattr(request, "acks", None) != 0


class _Filling:
    """One error response in the making."""

    def __init__(self, version: int, code: int, message: str | None) -> None:
        self._version = version
        self._code = code
        self._message = message

    def fill(self, source: Any, cls: type[Any]) -> Any:
        """Return a `cls` with the error in it or in its items; None if it has no field for it."""
        fields = [field for field in fields_of(cls) if covers(field.versions, self._version)]
        names = {field.name for field in fields}
        filled = cls()
        for name in _CODES:
            if name in names:
                setattr(filled, name, self._code)
                if self._message is not None and _MESSAGE in names:
                    filled.error_message = self._message
                for unknown, value in _UNKNOWN.items():
                    if unknown in names:
                        setattr(filled, unknown, value)
                _copy(source, filled, fields)
                return filled
        for field in fields:
            item = _item_class(field)
            if item is not None and _has_error_code(item):
                items = self._items(source, item)
                if items is None:
                    return None
                setattr(filled, field.name, items)
                _copy(source, filled, fields)
                return filled
        return None

    def _items(self, source: object, cls: type[object]) -> list[object] | None:
        """Return an item for each item of the request; None if no array of the request fits."""
        arrays = _arrays(source)
        if not arrays:
            return []
        for array in arrays:
            if len(array) > MANY:
                if self._item(array[0], cls) is None:
                    continue
                return lazily(
                    array, lambda element: self._item(element, cls) or self.fill(None, cls)
                )
            items = [self._item(element, cls) for element in array]
            if all(item is not None for item in items):
                return items
        return None

    def _item(self, source: object, cls: type[object]) -> object:
        if hasattr(source, "__fields__"):
            return self.fill(source, cls)
        # A bare name or number belongs into the first field of its type.
        filled = self.fill(None, cls)
        if filled is not None:
            for field in fields_of(cls):
                named = field.name not in _CODES and field.name != _MESSAGE
                if named and type(getattr(filled, field.name)) is type(source):
                    setattr(filled, field.name, source)
                    return filled
        return None


def _arrays(source: object) -> list[list[object]]:
    """Return the non-empty arrays of a request or item, arrays of structs first."""
    if source is None:
        return []
    fields = [field for field in fields_of(type(source)) if field.kind == "array"]
    fields.sort(key=lambda field: _item_class(field) is None)
    return [value for field in fields if (value := getattr(source, field.name))]


def _copy(source: object, target: object, fields: list[Field]) -> None:
    """Copy the fields that both have: names, ids, partitions and lists of them."""
    if source is None:
        return
    there = {field.name: field for field in fields_of(type(source))}
    for field in fields:
        other = _same(field, there)
        if other is None or other.kind != field.kind or field.name in _CODES:
            continue
        value = getattr(source, other.name)
        if field.kind == "array":
            item = _item_class(field)
            if value and item is not None and _is_part_of(item, type(value[0])):
                parts = [item() for _ in value]
                for original, part in zip(value, parts, strict=True):
                    _copy(original, part, list(fields_of(item)))
                setattr(target, field.name, parts)
        elif field.kind != "struct" and value is not None:
            setattr(target, field.name, value)


def _same(field: Field, there: dict[str, Field]) -> Field | None:
    """Return the field of the request with the same meaning."""
    if field.name in there:
        return there[field.name]
    for names in _SYNONYMS:
        if field.name in names:
            for name in names:
                if name in there:
                    return there[name]
    return None


def _is_part_of(item: type[object], source: type[object]) -> bool:
    """Return whether an item of the response only repeats an item of the request."""
    if _has_error_code(item) or not hasattr(source, "__fields__"):
        return False
    names = {field.name for field in fields_of(source)}
    return all(field.name in names for field in fields_of(item))


def _item_class(field: Field) -> type[object] | None:
    """Return the struct of an array's items."""
    return field.of.struct if field.kind == "array" and field.of is not None else None


def _has_error_code(cls: type[object]) -> bool:
    """Return whether a struct, or a struct in its arrays, has an error code."""
    if any(field.name in _CODES for field in fields_of(cls)):
        return True
    items = [_item_class(field) for field in fields_of(cls)]
    return any(item is not None and _has_error_code(item) for item in items)
