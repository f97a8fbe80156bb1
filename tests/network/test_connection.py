"""Knowledge of a connection about its peer."""

from trio.testing import MockClock

from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import MuteReason
from trio_kafka.testing.planes import asked_plane
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.wire.frame import Buffers, Framer
from trio_kafka.world.memory import new_buffer


async def test_figures_of_a_connection_say_what_its_peer_and_its_buffers_are(
    autojump_clock: MockClock,
) -> None:
    world = simulated_world()
    async with asked_plane(world, []) as (plane, client):
        framer = Framer(Buffers(new_buffer), 1000)
        connection = Connection(client.socket, plane.processor, framer)

        connection.latest_client_id = "two"
        connection.software = "name", "1.0"
        figures = connection.figures()
        assert figures["software"] == "name 1.0"
        assert figures["client_id"] == "two"
        assert figures["muted"] == ""
        connection.muted = MuteReason.THROTTLED | MuteReason.SENDING
        assert connection.figures()["muted"] == "throttled, sending"
        assert figures["buffer"] == figures["unsent"] == 0
        assert connection.listener.name == "PLAINTEXT"
