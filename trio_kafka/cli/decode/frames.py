"""Requests and responses in bytes, as data for JSON, by the message tables. Does no I/O."""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Final, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.protocol import messages
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.json_data import to_data
from trio_kafka.protocol.schema import Message, message_of

T = TypeVar("T")
_SIZE: Final = 4
_LEAST: Final = 8  # bytes of a request: key, version, correlation id


@frozen(kw_only=True)
class RequestKind:
    """API and version of a request, without which its response cannot be decoded."""

    key: int
    version: int


def strip_size(frame: bytes) -> bytes:
    """Return a frame without its length, if it has one in front."""
    if len(frame) >= _SIZE and int.from_bytes(frame[:_SIZE], "big") == len(frame) - _SIZE:
        return frame[_SIZE:]
    return frame


def read_request(frame: bytes) -> tuple[dict[str, object], RequestKind, int]:
    """Return a request as data, what its response needs, and its correlation id.

    Raises ValueError: no request, an unknown API or version, bytes after its end.
    """
    if len(frame) < _LEAST:
        raise ValueError(f"{len(frame)} bytes: want at least {_LEAST} for a request")
    key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
    cls = _request_class(key)
    if cls is None:
        raise ValueError(f"no request: API key {key} is not known")
    message = message_of(cls)
    header, at = _decode(RequestHeader, request_header_version(message, version), frame, 0)
    body, end = _decode(cls, version, frame, at)
    _check_end(frame, end, message)
    data: dict[str, object] = {
        "api": message.name.removesuffix("Request"),
        "key": key,
        "version": version,
        "correlation_id": header.correlation_id,
        "client_id": header.client_id,
        "request": to_data(body),
    }
    return data, RequestKind(key=key, version=version), header.correlation_id


def correlation_of(frame: bytes) -> int:
    """Return the correlation id of a response."""
    return int.from_bytes(frame[:_SIZE], "big", signed=True)


def read_response(frame: bytes, kind: RequestKind) -> dict[str, object]:
    """Return a response as data. Raises ValueError."""
    request = _request_class(kind.key)
    cls = None if request is None else message_of(request).response
    if cls is None:
        raise ValueError(f"API key {kind.key} is not known")
    message = message_of(cls)
    header_version = response_header_version(message, kind.version)
    header, at = _decode(ResponseHeader, header_version, frame, 0)
    body, end = _decode(cls, kind.version, frame, at)
    _check_end(frame, end, message)
    return {
        "api": message.name.removesuffix("Response"),
        "key": kind.key,
        "version": kind.version,
        "correlation_id": header.correlation_id,
        "response": to_data(body),
    }


def api_key(text: str) -> int:
    """Return the key of an API by its name, in any case, or by its key. Raises ValueError."""
    for key, module in _modules().items():
        name = module.partition("_")[2].replace("_", "")
        if text == str(key) or text.lower() == name:
            return key
    raise ValueError(f"no API has the name or key {text!r}")


def _decode(cls: type[T], version: int, frame: bytes, at: int) -> tuple[T, int]:
    try:
        return decoder(cls, version)(frame, at)
    except DecodeError as error:
        raise ValueError(f"{message_of(cls).name} v{version}: {error}") from error


def _check_end(frame: bytes, end: int, message: Message) -> None:
    if end != len(frame):
        raise ValueError(f"{message.name}: {len(frame) - end} bytes after its end")


@cache
def _modules() -> Mapping[int, str]:
    """Return the modules of messages by API key; none is imported."""
    names = [info.name for info in pkgutil.iter_modules(messages.__path__)]
    return {
        int(name[1:].partition("_")[0]): name
        for name in names
        if name[0] == "k" and name[1:].partition("_")[0].isdecimal()
    }


def _request_class(key: int) -> type[object] | None:
    """Return the class of an API's request; None for an unknown API."""
    name = _modules().get(key)
    if name is None:
        return None
    module = import_module(f"{messages.__name__}.{name}")
    for value in vars(module).values():
        message = getattr(value, "__message__", None)
        if isinstance(message, Message) and message.response is not None and message.key == key:
            request: type[object] = value
            return request
    return None
