"""Responses as readable messages: bytes decoded, lazy arrays created."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.pending import Work
from trio_kafka.protocol.columns import Columns
from trio_kafka.protocol.compiler import decoder_in_steps
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.chunked_codec import merged_steps
from trio_kafka.requests.lazy_arrays import LazyArray
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_LAZY: Final = frozenset({LazyArray, Columns})


def materialized(route: Route, response: object) -> Steps[object]:
    """Return a response as a message: decode `Encoded` bytes, replace lazy arrays by lists."""
    if type(response) is Encoded:
        decode = decoder_in_steps(route.api.response, route.version)
        return (yield from merged_steps(decode(memoryview(response.body), 0)))[0]
    yield from _create_items(response)
    return response


def release_ranges(message: object, unless: object = None) -> None:
    """Release the file ranges of a message that is not sent, except those also in `unless`."""
    kept = set(map(id, _ranges(unless)))
    for file_range in _ranges(message):
        if id(file_range) not in kept:
            file_range.release()


def discard(result: object) -> None:
    """Give back what the result of a handler holds, as it is not sent.

    result: what a handler may return, or an exception. Only messages with file ranges, and Work,
        hold something.
    """
    if type(result) is Work:
        result.close()
    elif hasattr(type(result), "__fields__") and has_ranges(type(result)):
        release_ranges(result)


def has_ranges(response: type[object]) -> bool:
    """Return whether messages of the class can hold records."""
    return any(
        field.kind == "records" or (inner is not None and has_ranges(inner))
        for field in fields_of(response)
        for inner in (_struct_of(field),)
    )


def _create_items(message: object) -> Steps[None]:
    for field in _struct_arrays(type(message)):
        items = getattr(message, field.name)
        if type(items) in _LAZY:
            created: list[object] = []
            for some in in_slices(items, 10):
                created += some
                yield
            items = created
            setattr(message, field.name, created)
        for item in items or ():
            yield from _create_items(item)


def _ranges(message: object) -> Iterator[FileRange]:
    if message is None:
        return
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if type(value) is FileRange:
            yield value
        elif field.kind == "array" and _struct_of(field) is not None:
            for item in value or ():
                yield from _ranges(item)


def _struct_arrays(cls: type[object]) -> list[Field]:
    """Return the fields that are arrays of structs."""
    return [field for field in fields_of(cls) if field.kind == "array" and _struct_of(field)]


def _struct_of(field: Field) -> type[object] | None:
    if field.kind == "array":
        return field.of.struct if field.of is not None else None
    return field.struct
