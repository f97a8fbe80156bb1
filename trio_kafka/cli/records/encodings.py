"""Bytes of keys, values and headers as JSON, and back, without a loss.

Text is a JSON string, null is null. Bytes in another form say which: `{"hex": "00ff"}`,
`{"base64": "AP8="}`, `{"json": {"a": 1}}`. Bytes that the chosen form cannot hold are base64.
"""

import base64
from collections.abc import Mapping
from typing import Final

from trio_kafka.strict_json import dump_json, parse_json

TEXT: Final = "text"
HEX: Final = "hex"
BASE64: Final = "base64"
JSON: Final = "json"
ENCODINGS: Final = (TEXT, HEX, BASE64, JSON)


def to_json(data: bytes | None, encoding: str = TEXT) -> object:
    """Return bytes in a form for JSON, from which `from_json` returns the same bytes.

    encoding: one of ENCODINGS. With JSON, the content comes back, but not its spaces.
    """
    if data is None:
        return None
    if encoding == HEX:
        return {HEX: data.hex()}
    if encoding != BASE64:
        try:
            return {JSON: parse_json(data)} if encoding == JSON else data.decode()
        except ValueError:
            pass  # not of this form
    return {BASE64: base64.b64encode(data).decode()}


def from_json(value: object) -> bytes | None:
    """Return the bytes of a value that `to_json` has returned. Raises ValueError."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Mapping) and len(value) == 1:
        ((form, content),) = value.items()
        if form == JSON:
            return dump_json(content, compact=True).encode()
        if isinstance(content, str) and form == HEX:
            return _from_hex(content)
        if isinstance(content, str) and form == BASE64:
            return base64.b64decode(content, validate=True)
    raise ValueError(
        f"{dump_json(value)[:60]}: want a text, null,"
        ' {"hex": …}, {"base64": …}, or {"json": …} around any JSON'
    )


def _from_hex(text: str) -> bytes:
    if not text.isascii() or " " in text:
        raise ValueError(f"{text[:60]!r} is not hex")
    return bytes.fromhex(text)
