"""Shared parts of the plugins' ASGI apps: queries, JSON bodies, limit of requests in flight."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

import trio

from trio_kafka.introspect.tree import Figures
from trio_kafka.plugin_host.mounts import Receive, Scope, Send
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.strict_json import dump_json, parse_json

# A piece of a response ends with the first of these. An item of 500 bytes takes 4.3 µs to dump, the
# smallest 1 µs: a piece takes 0.5 ms. A pause after each item would cost 2.7 µs, 60 % more.
_ITEMS: Final = 100
_SIZE: Final = 50_000
_LONGEST_NAME: Final = 80


def principal_of(scope: Scope) -> Principal:
    """Return the principal of an HTTP request, which the HTTP plane adds to its scope."""
    plane = scope.get("extensions", {}).get("trio_kafka", {})
    principal: Principal = plane.get("principal", NOBODY)
    return principal


def has_session(scope: Scope) -> bool:
    """Return whether a person has logged in at the HTTP plane and can log out there."""
    return bool(scope.get("extensions", {}).get("trio_kafka", {}).get("has_session"))


class HttpError(Exception):
    """Request refused: the HTTP status and the message of its response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class InFlight:
    """Count of an app's requests in flight. bound: limit above which the app must reject requests:
    see `full`.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._count = self._most = self._served = 0

    @property
    def full(self) -> bool:
        return self._count >= self._bound

    def __enter__(self) -> None:
        self._count += 1
        self._most = max(self._most, self._count)

    def __exit__(self, *_: object) -> None:
        self._count -= 1
        self._served += 1

    def figures(self) -> Figures:
        """Return figures of a node of kind `channel`."""
        return {
            "depth": self._count,
            "bound": self._bound,
            "high_water": self._most,
            "items": self._served,
        }


async def read_json(receive: Receive, most: int) -> object:
    """Read and parse the body of a request, in one step. most: bytes.

    Raises HttpError.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise HttpError(400, "the client has left")
        body += message.get("body", b"")
        if len(body) > most:
            raise HttpError(413, f"the body is larger than {most}")
        if not message.get("more_body", False):
            break
    try:
        return parse_json(bytes(body))
    except ValueError as error:
        raise HttpError(400, f"the body is not JSON: {error}") from None


def unknown_name(names: Iterable[str], choices: Collection[str]) -> str:
    """Return the error of the first name that is not among `choices`; an empty text if none."""
    for name in names:
        if name not in choices:
            near = get_close_matches(name[:_LONGEST_NAME], choices, n=1, cutoff=0.5)
            expected = f"want some of {', '.join(choices)}" if choices else "want none"
            hint = f"did you mean {near[0]!r}?" if near else expected
            return f"unknown name {name[:_LONGEST_NAME]!r}; {hint}"
    return ""


def read_number(
    query: Mapping[str, str], name: str, default: int, *, low: int = 0, high: int = (1 << 63) - 1
) -> int:
    """Return an integer of a query, or the default. Raises HttpError for a bad one."""
    text = query.get(name)
    if text is None:
        return default
    digits = text.removeprefix("-") if low < 0 else text
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= 19
    if not is_number or not low <= int(text) <= high:
        raise HttpError(400, f"{name}={text[:40]}: want a number from {low} to {high}")
    return int(text)


async def send_json(
    send: Send,
    status: int,
    body: Mapping[str, object] | None,
    *,
    headers: Iterable[tuple[bytes, bytes]] = (),
    head_only: bool = False,
) -> None:
    """Send `body` as JSON, or an empty response if it is None.

    Lists directly below it may be long: other tasks run between their items. One item of such a
    list, and any other value, is dumped in one step. The body must not change meanwhile.
    head_only: omit the body, for HEAD.
    """
    all_headers = [(b"cache-control", b"no-store"), *headers]
    if body is not None:
        all_headers.insert(0, (b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    for piece, more in [(b"", False)] if body is None or head_only else _pieces(body):
        await send({"type": "http.response.body", "body": piece, "more_body": more})
        if more:
            await trio.lowlevel.checkpoint()


def json_pieces(body: Mapping[str, object]) -> Iterator[bytes]:
    """Yield `body` as JSON; a piece takes 0.5 ms, as in `send_json`."""
    return (piece for piece, _ in _pieces(body))


def _pieces(body: Mapping[str, object]) -> Iterator[tuple[bytes, bool]]:
    """Yield the bytes to send, and True if more follow."""
    waiting, size = list[str](), 0
    for text in _texts(body):
        waiting.append(text)
        size += len(text)
        if len(waiting) >= _ITEMS or size >= _SIZE:
            yield "".join(waiting).encode(), True
            waiting, size = [], 0
    yield "".join([*waiting, "}"]).encode(), False


def _texts(body: Mapping[str, object]) -> Iterator[str]:
    """Yield a text for each item of a list and each other value, without the closing bracket."""
    begin = "{"
    for name, value in body.items():
        begin += f"{dump_json(name)}: "
        if isinstance(value, list | tuple):
            begin += "["
            for item in value:
                yield begin + dump_json(item)
                begin = ", "
            yield "]" if value else begin + "]"
        else:
            yield begin + dump_json(value)
        begin = ", "
    if not body:
        yield begin
