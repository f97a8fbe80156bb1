"""Recorded frames as lines of JSON, and their replay against a broker.

Each connection of the recording becomes a connection. The frames are sent in the order in which
they were recorded, each when the one before it has been answered.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.model import Endpoint, key_of, version_of
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.requests.registry import Registry
from trio_kafka.testing.recorder.recorded import RecordedRequest
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.wire.server import HEAD, raw_client_id
from trio_kafka.world.world import World

_SIZE: Final = 4
_HEAD: Final = 10


class RecordingError(ValueError):
    """Line that is no recorded frame; the message names it and the reason."""


@frozen
class Replayed:
    """Replayed request. response: None with acks=0, or if the connection was closed instead."""

    request: RecordedRequest
    response: Any
    closed: bool = False


def saved(requests: Iterable[RecordedRequest]) -> str:
    """Return requests as lines of JSON: connection, API, version, and the frame as base64."""
    lines = [
        {
            "connection": one.connection,
            "at_s": one.at_s,
            "api": one.api,
            "version": one.version,
            "client_id": one.client_id,
            "frame": base64.b64encode(one.frame).decode(),
        }
        for one in requests
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def loaded(text: str, apis: Registry) -> list[RecordedRequest]:
    """Return the requests of saved lines. apis: of the broker. Raises RecordingError."""
    found: list[RecordedRequest] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(_loaded(number, json.loads(line), apis))
            except (ValueError, TypeError, KeyError, binascii.Error) as error:
                reason = f"no {error}" if isinstance(error, KeyError) else str(error)
                raise RecordingError(f"line {number}: {reason}") from error
    return found


async def replayed(
    requests: Sequence[RecordedRequest], world: World, address: Endpoint
) -> list[Replayed]:
    """Send recorded requests to a broker, and return them with the responses.

    A request on a connection that the broker has closed is not sent.
    """
    found: list[Replayed] = []
    clients: dict[int, ScriptedClient | None] = {}
    async with AsyncExitStack() as stack:
        for request in requests:
            if request.connection not in clients:
                client = await stack.enter_async_context(connected(world, address))
                clients[request.connection] = client
            one = await _replay(request, clients[request.connection])
            if one.closed:
                clients[request.connection] = None
            found.append(one)
    return found


async def _replay(request: RecordedRequest, client: ScriptedClient | None) -> Replayed:
    if client is None:
        await trio.lowlevel.checkpoint()
        return Replayed(request, None, closed=True)
    response = message_of(request.kind).response
    try:
        await client.send(len(request.frame).to_bytes(_SIZE, "big") + request.frame)
        if response is None or not wants_answer(request.message):
            return Replayed(request, None)
        _, answer = await client.receive_answer(response, request.version)
    except (EOFError, ConnectionError):
        return Replayed(request, None, closed=True)
    return Replayed(request, answer)


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
