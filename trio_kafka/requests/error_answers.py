"""The generic answer that says an error: built from the tables of request and response.

Where the response has an `error_code` of its own that is filled. Otherwise every item of the
request's arrays gets an item in the response's array of the same place, with the fields of the same
name, and the error code in each innermost item that has one. What this cannot do gives None: the
API needs an answer of its own, or its connection is closed.
"""

from typing import Any, Final

from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.versions import covers

CODE: Final = "error_code"
MESSAGE: Final = "error_message"


def generic_error_answer(
    request: Any, response: type[Any], version: int, code: ErrorCode, message: str | None
) -> Any:
    """A response of class `response` that says `code` for all that was asked; None if it cannot."""
    return _fill(request, response, version, int(code), message)


def _fill(request: Any, cls: type[Any], version: int, code: int, message: str | None) -> Any:
    """A `cls` with the error in it, or in its items; None if there is no place for it."""
    fields = [field for field in fields_of(cls) if covers(field.versions, version)]
    names = {field.name for field in fields}
    made = cls()
    if CODE in names:
        made.error_code = code
        if message is not None and MESSAGE in names:
            made.error_message = message
        _copy(request, made, fields)
        return made
    for field in fields:
        item = _item_class(field)
        if item is not None and _says_errors(item):
            filled = _fill_array(request, item, version, code, message)
            if filled is None:
                return None
            setattr(made, field.name, filled)
            _copy(request, made, fields)
            return made
    return None


def _fill_array(
    request: Any, cls: type[Any], version: int, code: int, message: str | None
) -> list[Any] | None:
    """The items that answer the request's array; None if no array of the request fits."""
    if request is None:
        return None
    for asked in _arrays(request):
        items = [_answer_item(item, cls, version, code, message) for item in asked]
        if all(item is not None for item in items):
            return items
    return None


def _answer_item(
    item: Any, cls: type[Any], version: int, code: int, message: str | None
) -> Any | None:
    if hasattr(item, "__fields__"):
        return _fill(item, cls, version, code, message)
    # A list of bare names or numbers: they are what the answer's first field of that type names.
    made = _fill(None, cls, version, code, message)
    if made is not None:
        for field in fields_of(cls):
            if field.name != CODE and type(getattr(made, field.name)) is type(item):
                setattr(made, field.name, item)
                return made
    return None


def _arrays(request: Any) -> list[list[Any]]:
    """The arrays of a request or item, those with structs first."""
    fields = [field for field in fields_of(type(request)) if field.kind == "array"]
    fields.sort(key=lambda field: _item_class(field) is None)
    return [value for field in fields if (value := getattr(request, field.name))]


def _copy(source: Any, target: Any, fields: list[Field]) -> None:
    """What both have: names, ids, partitions."""
    if source is None:
        return
    there = {field.name: field for field in fields_of(type(source))}
    for field in fields:
        other = there.get(field.name)
        if other is not None and field.kind not in {"array", "struct"} and other.kind == field.kind:
            setattr(target, field.name, getattr(source, field.name))


def _item_class(field: Field) -> type[Any] | None:
    """The struct that an array holds."""
    return field.of.struct if field.kind == "array" and field.of is not None else None


def _says_errors(cls: type[Any]) -> bool:
    items = [_item_class(field) for field in fields_of(cls)]
    return any(field.name == CODE for field in fields_of(cls)) or any(
        item is not None and _says_errors(item) for item in items
    )
