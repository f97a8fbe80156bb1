"""Keys and values between JSON and bytes: `json`, `string`, `binary` (base64)."""

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any, Final

from trio_kafka.errors import ErrorCode, KafkaError

LARGEST_JSON: Final = 64 << 10  # most bytes parsed in one step: about 1 ms


def _from_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise _invalid(f"{type(value).__name__}: want a text")
    return value.encode()


def _from_base64(value: Any) -> bytes:
    try:
        return base64.b64decode(_from_text(value), validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise _invalid(f"no base64: {error}") from None


def _from_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _to_json(data: bytes) -> Any:
    if len(data) > LARGEST_JSON:
        raise _invalid(f"a value of {len(data)} bytes: read it as binary")
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise _invalid(f"no JSON ({error}): read it as string or binary") from None


def _to_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _invalid(f"no text ({error}): read it as binary") from None


ENCODE: Final[dict[str, Callable[[Any], bytes]]] = {
    "json": _from_json,
    "string": _from_text,
    "binary": _from_base64,
}
DECODE: Final[dict[str, Callable[[bytes], Any]]] = {
    "json": _to_json,
    "string": _to_text,
    "binary": lambda data: base64.b64encode(data).decode(),
}


def encode(format_: str, value: Any) -> bytes | None:
    """Encode a key or value; null is None. Raises KafkaError(INVALID_RECORD)."""
    try:
        return None if value is None else ENCODE[format_](value)
    except UnicodeEncodeError as error:  # a lone surrogate: valid in JSON, not in UTF-8
        raise _invalid(str(error)) from None


def decode(format_: str, data: bytes | None) -> Any:
    """Decode a key or value for JSON. Raises KafkaError(INVALID_RECORD)."""
    return None if data is None else DECODE[format_](data)


def check_format(format_: Any) -> str:
    """Check a format's name. Raises KafkaError(INVALID_REQUEST)."""
    if format_ not in ENCODE:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"format {format_!r}: want {', '.join(ENCODE)}")
    return str(format_)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
