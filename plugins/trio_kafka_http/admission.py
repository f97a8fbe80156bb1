"""Checks of a request that need no identity: framing, size, names of this plane, foreign pages.

A browser tells where a request comes from: by `Origin`, and by `Sec-Fetch-Site` (localhost with
another port is "same-site"). Pages of others may lead a person here by a link, and nothing else.
Source: Fetch Metadata Request Headers §2, RFC 6454 §7.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka_http.host_check import Names, same_origin
from trio_kafka_http.request_cycle import Headers, Message
from trio_kafka_http.request_framing import framing_error

READ: Final = frozenset({"GET", "HEAD"})
_OWN_SITES: Final = frozenset({b"same-origin", b"none"})
_FRAMES: Final = frozenset({b"embed", b"fencedframe", b"frame", b"iframe", b"object"})
_FOREIGN: Final = "requests from pages of other origins are not allowed"


class RefusedError(Exception):
    """A request that is rejected before any app. closes: the connection too is closed."""

    def __init__(
        self, status: int, message: str, headers: Headers = (), *, closes: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers
        self.closes = closes


def check_request(
    scope: Message, headers: Mapping[bytes, bytes], *, local: str, names: Names, most: int
) -> None:
    """Check that the request may be served. most: bytes of the head. Raises RefusedError."""
    if scope["http_version"] not in ("1.0", "1.1"):
        raise RefusedError(505, "only HTTP/1.1 is supported")
    if error := framing_error(scope["http_version"], headers):
        raise RefusedError(400, error, closes=True)
    # hypercorn bounds incomplete heads; a complete one may exceed that by the last receive.
    if _size_of_head(scope) > most:
        raise RefusedError(431, f"the head is larger than {most} bytes: max.header.bytes")
    host = headers.get(b"host", b"").decode("latin1")
    if not names.accepts(host, local):
        raise RefusedError(421, "not a name of this server: add it to plugin.http.hosts")
    origin = headers.get(b"origin")
    is_secured = scope.get("scheme") == "https"
    if origin is not None and not same_origin(origin.decode("latin1"), host, is_secured=is_secured):
        raise RefusedError(403, _FOREIGN)
    if _is_of_foreign_page(scope["method"], headers):
        raise RefusedError(403, _FOREIGN)


def is_navigation(scope: Message, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a person follows a link or enters an address, so that a page is expected."""
    if scope["method"] not in READ:
        return False
    mode = headers.get(b"sec-fetch-mode")
    if mode is not None:
        return mode == b"navigate"
    return b"text/html" in headers.get(b"accept", b"")


def says_its_page(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the request says from which page it comes; after `check_request`, from ours.

    Every browser of the last years says so for requests that change something.
    """
    return b"origin" in headers or b"sec-fetch-site" in headers


def _is_of_foreign_page(method: str, headers: Mapping[bytes, bytes]) -> bool:
    site = headers.get(b"sec-fetch-site")
    if site is None or site in _OWN_SITES:
        return False
    is_link = headers.get(b"sec-fetch-mode") == b"navigate" and method in READ
    return not is_link or headers.get(b"sec-fetch-dest") in _FRAMES


def _size_of_head(scope: Message) -> int:
    """Return the bytes of a request's head as HTTP/1.1 on the wire, with single spaces."""
    path = len(scope["raw_path"]) + len(scope["query_string"])
    line = len(scope["method"]) + path + len(" ? HTTP/1.1\r\n")
    return line + sum(len(name) + len(value) + len(": \r\n") for name, value in scope["headers"])
