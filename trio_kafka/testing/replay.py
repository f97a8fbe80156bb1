"""Replay of recorded frames against a broker.

Each connection of the recording becomes a connection. The frames are sent in the order in which
they were recorded, each when the one before it has been answered.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.controls.recorder import RecordedRequest
from trio_kafka.model import Endpoint
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.error_answers import wants_answer
from trio_kafka.testing.scripted_client import ScriptedClient, connected
from trio_kafka.world.world import World

_SIZE: Final = 4


@frozen
class Replayed:
    """Replayed request. response: None with acks=0, or if the connection was closed instead."""

    request: RecordedRequest
    response: Any
    closed: bool = False


async def replayed(
    requests: Sequence[RecordedRequest], world: World, address: Endpoint
) -> list[Replayed]:
    """Send recorded requests to a broker, and return them with the responses.

    A request on a connection that the broker has closed is not sent.
    """
    results: list[Replayed] = []
    clients: dict[int, ScriptedClient | None] = {}
    async with AsyncExitStack() as stack:
        for request in requests:
            if request.connection not in clients:
                client = await stack.enter_async_context(connected(world, address))
                clients[request.connection] = client
            result = await _replay(request, clients[request.connection])
            if result.closed:
                clients[request.connection] = None
            results.append(result)
    return results


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
