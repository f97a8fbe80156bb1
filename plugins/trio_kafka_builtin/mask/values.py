"""Masking of one value: JSON is parsed, its masked fields are replaced."""

import json

from trio_kafka_builtin.mask.rules import Masking


class UnreadableError(Exception):
    """The value is not JSON, or too large to be parsed in one step."""


def masked(value: bytes, masking: Masking, largest: int) -> bytes:
    """Mask the fields of a value; the same object if it has none. Raises UnreadableError."""
    if len(value) > largest:
        raise UnreadableError(f"a value of {len(value)} bytes, {largest} are parsed")
    try:
        document = json.loads(value.decode())
        if not masking.apply(document):
            return value
        return json.dumps(
            document, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None
