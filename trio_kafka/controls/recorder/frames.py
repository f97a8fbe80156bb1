"""Recorded frames as lines of JSON; `trio_kafka.testing.replay` sends them to a broker."""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, Final

from trio_kafka.controls.recorder.recorded import RecordedRequest
from trio_kafka.model import key_of, version_of
from trio_kafka.requests.registry import Registry
from trio_kafka.wire.server import HEAD, raw_client_id

_SIZE: Final = 4
_HEAD: Final = 10


class RecordingError(ValueError):
    """Line that is no recorded frame; the message names it and the reason."""


def saved(requests: Iterable[RecordedRequest]) -> str:
    """Return requests as lines of JSON: connection, API, version, and the frame as base64."""
    lines = [
        {
            "connection": request.connection,
            "at_s": request.at_s,
            "api": request.api,
            "version": request.version,
            "client_id": request.client_id,
            "frame": base64.b64encode(request.frame).decode(),
        }
        for request in requests
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def loaded(text: str, apis: Registry) -> list[RecordedRequest]:
    """Return the requests of saved lines. apis: of the broker. Raises RecordingError."""
    requests: list[RecordedRequest] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                requests.append(_loaded(number, json.loads(line), apis))
            except (ValueError, TypeError, KeyError, binascii.Error) as error:
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise RecordingError(f"line {number}: {reason}") from error
    return requests


def _loaded(number: int, line: Any, apis: Registry) -> RecordedRequest:
    frame = memoryview(base64.b64decode(line["frame"], validate=True))
    if len(frame) < _HEAD:
        raise RecordingError(f"{len(frame)} bytes, want a request's head of {_HEAD} or more")
    code, correlation, length = HEAD(frame, 0)
    key, version = key_of(code), version_of(code)
    api = apis.get(key)
    if api is None:
        raise RecordingError(f"API key {key}, which this broker does not serve")
    return RecordedRequest(
        number=number,
        at_s=float(line.get("at_s", 0.0)),
        api=api.name,
        key=key,
        version=version,
        correlation=correlation,
        client_id=(raw_client_id(frame, length) or b"").decode(),
        client_length=length,
        principal="",
        listener="",
        connection=int(line["connection"]),
        kind=api.request,
        names=(),
        frame=bytes(frame),
    )
