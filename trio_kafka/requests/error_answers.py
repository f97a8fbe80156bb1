"""The generic answer that says an error: built from the tables of request and response.

Where the response has an error code of its own that is filled. Otherwise each item of the request's
arrays gets an item in the response's array of the same depth, with the fields of the same name, and
the error code in each innermost item that has one. What this cannot do gives None: the API needs an
answer of its own (`@api(..., error=)`), or its connection is closed. Many items are made when they
are written.
"""

from typing import Any, Final

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.size_check import MANY
from trio_kafka.protocol.versions import covers
from trio_kafka.requests.large_requests import lazily

_CODES: Final = ("error_code", "partition_error_code")
_MESSAGE: Final = "error_message"
# What messages call the same thing.
_SYNONYMS: Final = (
    ("partition_index", "partition", "partition_id", "index"),
    ("name", "topic", "topic_name", "user"),
)


def generic_error_answer(
    request: Any, response: type[Any], version: int, code: ErrorCode, message: str | None
) -> Any:
    """A response of class `response` that says `code` for all that was asked; None if it cannot.

    A request that wants no answer (acks=0) gets none: that its connection is closed is what tells.
    """
    if not wants_answer(request):
        return None
    return _Filling(version, int(code), message).fill(request, response)


def wants_answer(request: Any) -> bool:
    """Whether the client waits for an answer: not with acks=0."""
    return getattr(request, "acks", None) != 0


class _Filling:
    """One answer in the making."""

    def __init__(self, version: int, code: int, message: str | None) -> None:
        self._version = version
        self._code = code
        self._message = message

    def fill(self, asked: Any, cls: type[Any]) -> Any:
        """A `cls` with the error in it, or in its items; None if there is no place for it."""
        fields = [field for field in fields_of(cls) if covers(field.versions, self._version)]
        names = {field.name for field in fields}
        made = cls()
        for name in _CODES:
            if name in names:
                setattr(made, name, self._code)
                if self._message is not None and _MESSAGE in names:
                    made.error_message = self._message
                _copy(asked, made, fields)
                return made
        for field in fields:
            item = _item_class(field)
            if item is not None and _says_errors(item):
                items = self._items(asked, item)
                if items is None:
                    return None
                setattr(made, field.name, items)
                _copy(asked, made, fields)
                return made
        return None

    def _items(self, asked: Any, cls: type[Any]) -> list[Any] | None:
        """An item for each that was asked for; None if nothing asked for fits."""
        arrays = _arrays(asked)
        if not arrays:
            return []
        for array in arrays:
            if len(array) > MANY:
                if self._item(array[0], cls) is None:
                    continue
                return lazily(array, lambda one: self._item(one, cls) or self.fill(None, cls))
            items = [self._item(one, cls) for one in array]
            if all(item is not None for item in items):
                return items
        return None

    def _item(self, asked: Any, cls: type[Any]) -> Any:
        if hasattr(asked, "__fields__"):
            return self.fill(asked, cls)
        # A bare name or number: it is what the answer's first field of its kind names.
        made = self.fill(None, cls)
        if made is not None:
            for field in fields_of(cls):
                named = field.name not in _CODES and field.name != _MESSAGE
                if named and type(getattr(made, field.name)) is type(asked):
                    setattr(made, field.name, asked)
                    return made
        return None


def _arrays(asked: Any) -> list[list[Any]]:
    """The arrays of a request or item that hold something, those of structs first."""
    if asked is None:
        return []
    fields = [field for field in fields_of(type(asked)) if field.kind == "array"]
    fields.sort(key=lambda field: _item_class(field) is None)
    return [value for field in fields if (value := getattr(asked, field.name))]


def _copy(source: Any, target: Any, fields: list[Field]) -> None:
    """What both have: names, ids, partitions, and lists of what is asked for."""
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
                for one, part in zip(value, parts, strict=True):
                    _copy(one, part, list(fields_of(item)))
                setattr(target, field.name, parts)
        elif field.kind != "struct" and value is not None:
            setattr(target, field.name, value)


def _same(field: Field, there: dict[str, Field]) -> Field | None:
    """The field of the request that means the same."""
    if field.name in there:
        return there[field.name]
    for names in _SYNONYMS:
        if field.name in names:
            for name in names:
                if name in there:
                    return there[name]
    return None


def _is_part_of(item: type[Any], asked: type[Any]) -> bool:
    """Whether the answer's item only repeats what stands in the request's."""
    if _says_errors(item) or not hasattr(asked, "__fields__"):
        return False
    names = {field.name for field in fields_of(asked)}
    return all(field.name in names for field in fields_of(item))


def _item_class(field: Field) -> type[Any] | None:
    """The struct that an array holds."""
    return field.of.struct if field.kind == "array" and field.of is not None else None


def _says_errors(cls: type[Any]) -> bool:
    if any(field.name in _CODES for field in fields_of(cls)):
        return True
    items = [_item_class(field) for field in fields_of(cls)]
    return any(item is not None and _says_errors(item) for item in items)
