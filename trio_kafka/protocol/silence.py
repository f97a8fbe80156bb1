"""The bytes that a message ends with where its last fields say nothing: null, or -1.

What is said all the time says nothing new most of the time, such as a member's heartbeat: one
comparison reads all of these fields then.
"""

from struct import Struct
from typing import Any, Final

from trio_kafka.protocol.fields import FIXED, Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.source import Source

_WORTH: Final = 3  # fields that may be null, at least: fewer are read as quickly


def silence(source: Source, cls: type[Any]) -> tuple[Field, bytes] | None:
    """The first of the last fields that may say nothing, and the bytes when all of them do; None
    where there are too few. An instance has such values in them when nobody has set them.
    """
    found: list[tuple[Field, bytes]] = []
    for field in reversed(fields_of(cls)):
        if source.in_row(field):
            nothing = _nothing(source, field)
            if nothing is None:
                break
            found.append((field, nothing))
    while found and found[-1][0].kind in FIXED:  # it is read with those before it
        found.pop()
    if sum(field.kind not in FIXED for field, _ in found) < _WORTH:
        return None
    found.reverse()
    tags = b"\0" if source.flexible else b""
    return found[0][0], b"".join(nothing for _, nothing in found) + tags


def _nothing(source: Source, field: Field) -> bytes | None:
    """The field as bytes when it says nothing; None where by default it says something."""
    if field.kind in FIXED:
        return Struct(f">{FIXED[field.kind][0]}").pack(-1) if field.default == -1 else None
    if field.kind == "struct" or field.default is not None or not source.null(field):
        return None
    code = source.lengths(field)
    return Struct(f">{code}").pack(0 if source.compact(field) else -1)
