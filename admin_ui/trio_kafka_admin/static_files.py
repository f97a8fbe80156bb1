"""Static files of the pages: read once, with an ETag of their content."""

from hashlib import blake2b
from importlib.resources import files
from typing import Final

from attrs import frozen

_KINDS: Final = {
    "app.css": b"text/css; charset=utf-8",
    "app.js": b"text/javascript; charset=utf-8",
    "landing.css": b"text/css; charset=utf-8",
    "icon.svg": b"image/svg+xml",
    "idiomorph.LICENSE": b"text/plain; charset=utf-8",
    "idiomorph.js": b"text/javascript; charset=utf-8",
}


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
        etag = f'"{blake2b(content, digest_size=12).hexdigest()}"'.encode()
        files_by_name[name] = StaticFile(content, kind, etag)
    return files_by_name
