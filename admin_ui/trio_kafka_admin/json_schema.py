"""JSON Schema (2020-12) of values, derived from the types of attrs classes."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import attrs

Schema = dict[str, Any]
_PLAIN: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    NoneType: "null",
}
_LISTS: Final = (list, Sequence, frozenset, set)
_TABLES: Final = (dict, Mapping)


class Schemas:
    """Schemas of attrs classes by their names, as they are needed. prefix: of references."""

    def __init__(self, prefix: str = "#/components/schemas/") -> None:
        self._prefix = prefix
        self.by_name: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type. Raises TypeError for a type that JSON does not have.

        A class becomes a reference. All its fields are required, and there are no others.
        """
        if kind is Any or kind is object:
            return {}
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if attrs.has(kind):
            return self._class(kind)
        schema = self._generic(get_origin(kind), get_args(kind))
        if schema is None:
            raise TypeError(f"type {kind!r} has no JSON Schema: use plain types and attrs classes")
        return schema

    def _generic(self, origin: object, arguments: tuple[Any, ...]) -> Schema | None:
        """Return the schema of a type with parameters; None if JSON does not have it."""
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(argument) for argument in arguments]}
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is tuple and arguments[-1] is not ...:
            items = [self.of(argument) for argument in arguments]
            return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
        if origin is tuple or origin in _LISTS:
            return {"type": "array", "items": self.of(arguments[0])}
        if origin in _TABLES:
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        return None

    def _class(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.by_name:
            self.by_name[name] = {}  # ends the recursion of a class that refers to itself
            types = _types(kind)
            self.by_name[name] = {
                "type": "object",
                "description": " ".join((kind.__doc__ or "").split()),
                "properties": {field: self.of(types[field]) for field in types},
                "required": list(types),
                "additionalProperties": False,
            }
        return {"$ref": f"{self._prefix}{name}"}


@cache
def _types(kind: type) -> Mapping[str, Any]:
    """Return the types of a class's fields, in order."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in attrs.fields(kind)}
