"""What a connection knows of its peer."""

import struct

import pytest
from trio.testing import MockClock

from trio_kafka.errors import ProtocolError
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import MuteReason
from trio_kafka.testing.planes import asked_plane
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.wire.frame import Buffers, Framer
from trio_kafka.world.memory import new_buffer


def head(client: bytes) -> tuple[memoryview, int]:
    return memoryview(struct.pack(">hhih", 0, 0, 0, len(client)) + client), len(client)


async def test_a_connection_caches_its_client_id_until_the_client_id_changes(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, []) as (plane, client):
        framer = Framer(Buffers(new_buffer), 1000)
        connection = Connection(client.socket, plane.processor, framer)

        first = connection.client_id(*head(b"one"))
        assert connection.client_id(*head(b"one")) is first
        assert connection.client_id(*head(b"two")) == "two"
        assert connection.client_id(memoryview(bytes(10)), -1) == ""
        with pytest.raises(UnicodeDecodeError):
            connection.client_id(*head(b"\xff"))
        with pytest.raises(ProtocolError):
            connection.client_id(memoryview(bytes(10)), 5)

        connection.software = "name", "1.0"
        figures = connection.figures()
        assert figures["software"] == "name 1.0"
        assert figures["muted"] == ""
        connection.muted = MuteReason.THROTTLED | MuteReason.SENDING
        assert connection.figures()["muted"] == "throttled, sending"
        assert figures["buffer"] == figures["unsent"] == 0
        assert connection.listener.name == "PLAINTEXT"
