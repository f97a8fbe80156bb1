"""Static files of the pages: read once, with an ETag of their content."""

from hashlib import blake2b
from importlib.resources import files
from typing import Final

from attrs import frozen

_KINDS: Final = {
    "app.css": b"text/css; charset=utf-8",
    "cards.css": b"text/css; charset=utf-8",
    "app.js": b"text/javascript; charset=utf-8",
    "landing.css": b"text/css; charset=utf-8",
    "icon.svg": b"image/svg+xml",
    "idiomorph.LICENSE": b"text/plain; charset=utf-8",
    "idiomorph.js": b"text/javascript; charset=utf-8",
}
# Widths of the screen below which tables of a class (`table.py`) become cards.
_CARDS: Final = ((b":not(.small)", 760), (b".middle", 1240), (b".wide", 1560))


@frozen
class StaticFile:
    """Static file of the UI. content_type, etag: values of the headers."""

    content: bytes
    content_type: bytes
    etag: bytes


def read_static_files() -> dict[str, StaticFile]:
    """Return the files by name. Reads files: call it in a thread."""
    files_by_name = {}
    for name, kind in _KINDS.items():
        content = files(__package__).joinpath("static", name).read_bytes()
        if name == "cards.css":
            content = _for_each_width(content)
        etag = f'"{blake2b(content, digest_size=12).hexdigest()}"'.encode()
        files_by_name[name] = StaticFile(content, kind, etag)
    return files_by_name


def _for_each_width(rules: bytes) -> bytes:
    """Return the rules of cards for each width of a table, below the screen that is its own."""
    blocks = [
        b"@media (max-width: %dpx) {\n%s}\n" % (width, rules.replace(b".data", b".data" + name))
        for name, width in _CARDS
    ]
    return b"".join(blocks)
