"""Keys and values between JSON and bytes: `json`, `string`, `binary` (base64).

A body has been parsed strictly, so what is written is read by any parser.
"""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.strict_json import parse_json

LARGEST_JSON: Final = 64 << 10  # most bytes parsed in one step: about 2 ms
SHOWN: Final = 40  # characters of a wrong value in an error message


class UnreadableError(Exception):
    """Stored bytes that a format cannot show."""


def _from_text(value: object) -> bytes:
    if not isinstance(value, str):
        raise _invalid(f"{type(value).__name__}: want a text")
    return value.encode()


def _from_base64(value: object) -> bytes:
    try:
        return base64.b64decode(_from_text(value), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise _invalid(f"no base64: {error}") from None


def _from_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _to_json(data: bytes) -> object:
    if len(data) > LARGEST_JSON:
        raise UnreadableError(f"{len(data)} bytes, at most {LARGEST_JSON} are parsed")
    try:
        return parse_json(data)
    except ValueError as error:
        raise UnreadableError(f"not JSON: {error}") from None


def _to_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not UTF-8: {error}") from None


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


ENCODE: Final[dict[str, Callable[[object], bytes]]] = {
    "json": _from_json,
    "string": _from_text,
    "binary": _from_base64,
}
DECODE: Final[dict[str, Callable[[bytes], object]]] = {
    "json": _to_json,
    "string": _to_text,
    "binary": _to_base64,
}


def encode(format_: str, value: object) -> bytes | None:
    """Encode a key or value; null is None. Raises KafkaError(INVALID_RECORD)."""
    return None if value is None else ENCODE[format_](value)


def decode(format_: str, data: bytes | None) -> object:
    """Decode a key or value for JSON. Raises UnreadableError."""
    return None if data is None else DECODE[format_](data)


def decode_field(name: str, format_: str, data: bytes | None) -> dict[str, object]:
    """Return the members of a record that show its key or value.

    `{name: value}`; for bytes that the format cannot show, `{name_base64: ..., name_error: ...}`.
    A reader that does not know the second form then misses a member, and cannot take base64, or a
    null, for the value.
    """
    try:
        return {name: decode(format_, data)}
    except UnreadableError as error:
        return {f"{name}_base64": _to_base64(data or b""), f"{name}_error": str(error)}


def check_format(format_: object) -> str:
    """Check a format's name. Raises KafkaError(INVALID_REQUEST)."""
    if not isinstance(format_, str) or format_ not in ENCODE:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"format {shown(format_)}: want {', '.join(ENCODE)}"
        )
    return format_


def shown(value: object) -> str:
    """Return a wrong value for an error message, cut."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
