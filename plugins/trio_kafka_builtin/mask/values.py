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
        document, is_unique = _parse(value)
        if not masking.apply(document) and is_unique:
            return value
        return json.dumps(
            document, ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()
    except (ValueError, RecursionError) as error:
        raise UnreadableError(str(error)) from None


def _parse(value: bytes) -> tuple[object, bool]:
    """Return a document, and False if an object has a name twice: `json` drops all but the last.

    A document that is returned as it was would still show the others.
    """
    is_unique = True

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        nonlocal is_unique
        fields = dict(pairs)
        is_unique &= len(fields) == len(pairs)
        return fields

    return json.loads(value.decode(), object_pairs_hook=members), is_unique
