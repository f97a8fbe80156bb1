"""The scripted client sends what it is told and takes what comes."""

import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from trio.testing import MockClock

from trio_kafka.errors import ProtocolError
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.testing.scripted_client import (
    ScriptedClient,
    connected,
    frame,
    request_frame,
)
from trio_kafka.testing.simulation import simulated_world


@asynccontextmanager
async def both_ends() -> AsyncIterator[tuple[ScriptedClient, ScriptedClient]]:
    world = simulated_world()
    listener = await world.network.listen("127.0.0.1", 0)
    async with connected(world, listener.address) as client:
        server = ScriptedClient(await listener.accept())
        yield client, server
        server.close()


def test_frame_has_size_header_and_body() -> None:
    assert frame(3, 4, b"body", correlation=5, client_id="me") == (
        struct.pack(">ihhih", 16, 3, 4, 5, 2) + b"mebody"
    )
    assert frame(3, 4, client_id=None, flexible=True) == struct.pack(">ihhihb", 11, 3, 4, 0, -1, 0)
    assert request_frame(EchoRequest("a", 1), 1)[18:].startswith(b"pted\0\x02a")


async def test_large_data_is_sent_and_received_whole(autojump_clock: MockClock) -> None:
    data = bytes(range(256)) * 2000
    async with both_ends() as (client, server), trio.open_nursery() as nursery:
        nursery.start_soon(client.send, data)
        assert await server.receive(len(data)) == data


async def test_response_with_another_correlation_id_is_an_error(autojump_clock: MockClock) -> None:
    answer = struct.pack(">iihhhi", 14, 9, 0, -1, 0, 0)
    async with both_ends() as (client, server):
        await server.send(answer)
        with pytest.raises(ProtocolError, match="answer 9: want 1"):
            await client.ask(EchoRequest(), 0)
        await server.send(answer[:-4] + struct.pack(">i", 7))
        assert await client.receive_answer(EchoResponse, 0) == (9, EchoResponse(number=7))


async def test_bytes_after_a_response_are_an_error(autojump_clock: MockClock) -> None:
    async with both_ends() as (client, server):
        await server.send(struct.pack(">iihhhib", 15, 9, 0, -1, 0, 0, 1))
        with pytest.raises(ProtocolError, match="EchoResponse of 15 bytes: want 14"):
            await client.receive_answer(EchoResponse, 0)


async def test_end_of_the_stream_is_distinguished_from_a_reset(autojump_clock: MockClock) -> None:
    async with both_ends() as (client, server):
        await server.send(b"abc")
        server.close()
        with pytest.raises(EOFError, match="after 3 of 4"):
            await client.receive_frame()
        assert await client.wait_closed()
    async with both_ends() as (client, server):
        server.socket.abort()
        assert not await client.wait_closed()


async def test_ask_refuses_a_message_that_is_no_request(autojump_clock: MockClock) -> None:
    async with both_ends() as (client, _):
        with pytest.raises(TypeError):
            await client.ask(EchoResponse(), 0)


async def test_response_to_a_cancelled_ask_is_discarded(autojump_clock: MockClock) -> None:
    async with both_ends() as (client, server):
        with trio.move_on_after(1):
            await client.ask(EchoRequest("cancelled"), 0)
        for number in (1, 2):
            await server.send(struct.pack(">iihhhi", 14, number, 0, -1, 0, number))

        assert await client.ask(EchoRequest("next"), 0) == EchoResponse(number=2)
