r"""Escapes in options: `\t`, `\n`, `\r`, `\0`, `\\` and `\xNN`, as in kcat."""

import re
from typing import Final

_ESCAPE: Final = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_BYTES: Final = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def unescape(text: str) -> bytes:
    """Return the bytes of a text with escapes. Raises ValueError for an unknown escape."""
    if text.endswith("\\") and not text.endswith("\\\\"):
        raise ValueError(f"{text!r} ends in the middle of an escape: write \\\\ for a backslash")
    return _ESCAPE.sub(_unescaped, text.encode(errors="surrogateescape"))


def _unescaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == 3:
        return bytes([int(escape[1:], 16)])
    if escape not in _BYTES:
        shown = escape.decode(errors="replace")
        raise ValueError(rf"unknown escape \{shown}: want \t, \n, \r, \0, \xNN or \\")
    return _BYTES[escape]


def show_bytes(data: bytes) -> str:
    """Return bytes as a text that cannot command a terminal: what is no text is escaped."""
    text = data.decode(errors="backslashreplace")
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else repr(letter)[1:-1]
        for letter in text
    )
