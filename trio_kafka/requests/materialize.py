"""An answer as a message that can be read: handlers also give bytes, and arrays that are only good
for being written.
"""

from collections.abc import Iterator
from typing import Any

from trio_kafka.protocol.compiler import decoder_in_steps
from trio_kafka.protocol.fields import Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.large_requests import Lazily, coarse
from trio_kafka.requests.replies import Encoded, Route
from trio_kafka.scheduling.chunked_work import Steps, in_slices


def opened(route: Route, answer: Any) -> Steps[Any]:
    """The message: bytes are read, arrays made."""
    if type(answer) is Encoded:
        decode = decoder_in_steps(route.api.response, route.version)
        return (yield from coarse(decode(memoryview(answer.body), 0)))[0]
    yield from _make_arrays(answer)
    return answer


def release_ranges(message: Any, unless: Any = None) -> None:
    """End the leases of a message that is not sent, but of those that stand in `unless` as well."""
    kept = set(map(id, _ranges(unless)))
    for found in _ranges(message):
        if id(found) not in kept:
            found.release()


def has_ranges(response: type[Any]) -> bool:
    """Whether messages of the class have a place for records."""
    return any(
        field.kind == "records" or (inner is not None and has_ranges(inner))
        for field in fields_of(response)
        for inner in (_struct_of(field),)
    )


def _make_arrays(message: Any) -> Steps[None]:
    for field in _arrays(type(message)):
        items = getattr(message, field.name)
        if type(items) is Lazily:
            made: list[Any] = []
            for some in in_slices(items, 10):
                made += some
                yield
            items = made
            setattr(message, field.name, made)
        for item in items or ():
            yield from _make_arrays(item)


def _ranges(message: Any) -> Iterator[FileRange]:
    if message is None:
        return
    for field in fields_of(type(message)):
        value = getattr(message, field.name)
        if type(value) is FileRange:
            yield value
        elif field.kind == "array" and _struct_of(field) is not None:
            for item in value or ():
                yield from _ranges(item)


def _arrays(cls: type[Any]) -> list[Field]:
    """The arrays of structs."""
    return [field for field in fields_of(cls) if field.kind == "array" and _struct_of(field)]


def _struct_of(field: Field) -> type[Any] | None:
    if field.kind == "array":
        return field.of.struct if field.of is not None else None
    return field.struct
