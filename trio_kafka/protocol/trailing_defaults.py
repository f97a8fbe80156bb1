"""Trailing default values of a message: a shortcut that reads them all with one comparison.

Frequent messages, such as the heartbeat of a member, mostly end with fields that are null or -1.
"""

from struct import Struct
from typing import Final

from trio_kafka.protocol.fields import FIXED, Field
from trio_kafka.protocol.schema import fields_of
from trio_kafka.protocol.source import Source

_MIN_NULLABLE: Final = 3  # nullable fields; with fewer, the shortcut does not pay


def trailing_defaults(source: Source, cls: type[object]) -> tuple[Field, bytes] | None:
    """Return the first trailing field that may be default, and the bytes if all of them are.

    None where too few fields qualify. Only fields whose class default is null or -1 count.
    """
    defaults: list[tuple[Field, bytes]] = []
    for field in reversed(fields_of(cls)):
        if source.in_row(field):
            default = _default_bytes(source, field)
            if default is None:
                break
            defaults.append((field, default))
    while (
        defaults and defaults[-1][0].kind in FIXED
    ):  # it is read together with the fields before it
        defaults.pop()
    if sum(field.kind not in FIXED for field, _ in defaults) < _MIN_NULLABLE:
        return None
    defaults.reverse()
    tags = b"\0" if source.flexible else b""
    return defaults[0][0], b"".join(default for _, default in defaults) + tags


def _default_bytes(source: Source, field: Field) -> bytes | None:
    """Return the bytes of a field at its null or -1 default; None if it has another default."""
    if field.kind in FIXED:
        return Struct(f">{FIXED[field.kind][0]}").pack(-1) if field.default == -1 else None
    if field.kind == "struct" or field.default is not None or not source.null(field):
        return None
    code = source.lengths(field)
    return Struct(f">{code}").pack(0 if source.compact(field) else -1)
