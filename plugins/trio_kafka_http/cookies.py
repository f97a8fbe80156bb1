"""The cookie of a session.

Browsers send a cookie to all ports of a host, so its name holds the port: two brokers of a machine
do not end each other's sessions. A second cookie of the name was set by another server or a
neighbour domain, so neither counts. Source: RFC 6265 §4, §8.5; RFC 6265bis §4.1.3 (`__Host-`).
"""

import re
from typing import Any, Final

from trio_kafka_http.request_cycle import Message

_ID: Final = re.compile(r"[0-9a-f]{64}")
_RULES: Final = "Path=/; HttpOnly; SameSite=Strict"


def session_of(scope: Message) -> str:
    """Return the id of the session that a request names, or an empty text."""
    name = _name_of(scope)
    ids = [text for cookie, text in _cookies_of(scope["headers"]) if cookie == name]
    return ids[0] if len(ids) == 1 and _ID.fullmatch(ids[0]) else ""


def set_cookie(scope: Message, session: str) -> tuple[bytes, bytes]:
    """Return the header that gives a browser its session; an empty one takes it away."""
    secured = "; Secure" if _is_secured(scope) else ""
    ended = "" if session else "; Max-Age=0"
    cookie = f"{_name_of(scope)}={session}; {_RULES}{secured}{ended}"
    return b"set-cookie", cookie.encode()


def without_session(scope: Message) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request without the cookie of the session, for apps."""
    name, headers = _name_of(scope), list[tuple[bytes, bytes]]()
    for header, value in scope["headers"]:
        if header != b"cookie" or name.encode() not in value:
            headers.append((header, value))
            continue
        kept = [
            f"{other}={text}" for other, text in _cookies_of([(header, value)]) if other != name
        ]
        if kept:
            headers.append((header, "; ".join(kept).encode("latin1")))
    return headers


def _cookies_of(headers: Any) -> list[tuple[str, str]]:
    pairs = []
    for header, value in headers:
        if header == b"cookie":
            for part in value.decode("latin1").split(";"):
                name, _, text = part.partition("=")
                pairs.append((name.strip(), text.strip()))
    return pairs


def _name_of(scope: Message) -> str:
    server = scope.get("server") or ("", 0)
    prefix = "__Host-" if _is_secured(scope) else ""
    return f"{prefix}trio-kafka-{server[1]}"


def _is_secured(scope: Message) -> bool:
    return scope.get("scheme") == "https"
