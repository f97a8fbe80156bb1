"""Responses with an error in some of their parts, and the real answer in the others.

The error stands in the outermost part of the response that the rule's conditions decide on and that
has an error code: in the group of an OffsetFetch for a rule about the group, in the partitions for
one about a topic.
"""

from collections.abc import Callable, Iterable
from copy import copy
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.controls.faults.parts import (
    NamedParts,
    Names,
    NamingArray,
    Role,
    copy_names,
    key_of,
    naming_arrays,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.versions import covers

_CODES: Final = ("error_code", "partition_error_code")
_MESSAGE: Final = "error_message"
# Kafka writes -1 for what a part with an error does not have.
_UNKNOWN: Final = (
    "base_offset",
    "high_watermark",
    "last_stable_offset",
    "offset",
    "timestamp",
    "committed_offset",
    "end_offset",
    "leader_id",
    "leader_epoch",
    "node_id",
    "port",
)


class NoPlaceError(Exception):
    """Response class without a place for an error in some of its parts."""


@frozen(kw_only=True)
class PartialErrors:
    """Maker of error parts. decides: whether names satisfy all conditions of the rule."""

    parts: NamedParts
    version: int
    code: ErrorCode
    text: str
    decides: Callable[[Names], bool]

    def response(self, request: object, cls: type[object]) -> object:
        """Return a response of class `cls` with only an error for each part of `request`.

        Raises NoPlaceError.
        """
        return self._fill(request, request, cls, self.parts.of_whole(request))

    def _fill(self, request: object, item: object, cls: type[object], names: Names) -> object:
        struct = cls()
        fields = {field.name for field in fields_of(cls) if covers(field.versions, self.version)}
        below = list(self.parts.items(request, item, names))
        code = next((name for name in _CODES if name in fields), None)
        if code is not None and (not below or self.decides(names)):
            self._set_error(struct, code, fields)
            return struct
        if not below:
            raise NoPlaceError(f"{cls.__name__} has no error code in version {self.version}")
        filled: dict[str, list[object]] = {}
        for array, inner_item, inner in below:
            target = _array_for(array.role, cls, fields)
            part = self._fill(request, inner_item, target.item or cls, inner)
            copy_names(array.role, inner_item, part)
            filled.setdefault(target.name, []).append(part)
        for name, parts in filled.items():
            setattr(struct, name, parts)
        return struct

    def _set_error(self, struct: object, code: str, fields: set[str]) -> None:
        setattr(struct, code, int(self.code))
        if _MESSAGE in fields:
            setattr(struct, _MESSAGE, self.text)
        for name in fields.intersection(_UNKNOWN):
            setattr(struct, name, -1)


def combined(real: object, wrong: object, request: object) -> object:
    """Return a copy of a real response with the parts of `wrong` in their places.

    request: None: unknown; its order is that of the new parts. `real` stays unchanged.
    """
    merged = copy(real)
    for array in naming_arrays(type(wrong)):
        bad = getattr(wrong, array.name)
        if bad:
            order = _order(array.role, request)
            items = _merge(array.role, getattr(real, array.name) or (), bad, order=order)
            setattr(merged, array.name, items)
    return merged


def _merge(
    role: Role,
    real: Iterable[object],
    wrong: Iterable[object],
    *,
    order: dict[tuple[object, ...], object],
) -> list[object]:
    """Return the items of both; those of `wrong` replace real ones of the same names."""
    items: dict[tuple[object, ...], object] = {}
    for item in real:
        key = key_of(role, item)
        # Fetch may answer a topic in several rows.
        items[key] = _joined(items[key], item) if key in items else item
    for bad in wrong:
        key = key_of(role, bad)
        has_parts = any(getattr(bad, array.name) for array in naming_arrays(type(bad)))
        if key in items and has_parts:
            items[key] = combined(items[key], bad, order.get(key))
        else:
            items[key] = bad
    last = len(order)
    places = {key: n for n, key in enumerate(order)}
    return [items[key] for key in sorted(items, key=lambda key: places.get(key, last))]


def _joined(first: object, second: object) -> object:
    """Return one item with the parts of two."""
    merged = copy(first)
    for array in naming_arrays(type(first)):
        setattr(merged, array.name, [*getattr(first, array.name), *getattr(second, array.name)])
    return merged


def _order(role: Role, request: object) -> dict[tuple[object, ...], object]:
    """Return the items of a request's arrays of a role, in order, by what names them."""
    if not hasattr(request, "__fields__"):
        return {}
    return {
        key_of(role, item): item
        for array in naming_arrays(type(request))
        if array.role == role
        for item in getattr(request, array.name) or ()
    }


def _array_for(role: Role, cls: type[object], fields: set[str]) -> NamingArray:
    """Return the array of a response that answers the parts of a role."""
    for array in naming_arrays(cls):
        if array.role == role and array.name in fields and array.item is not None:
            return array
    raise NoPlaceError(f"{cls.__name__} has no array of {role}s")
