"""Who is idle, and who only waits for us."""

import pytest
import trio
import trio.testing

from trio_kafka.network import items
from trio_kafka.network.idle import is_idle
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k18_api_versions import api_versions


class Quiet:
    """A connection, as far as idleness is concerned."""

    def __init__(self, muted: int, *, out: bool = False, closed: bool = False) -> None:
        self.progress = 100.0
        self.muted = muted
        self.out = object() if out else None
        self.closed = closed


@pytest.mark.parametrize(
    ("connection", "idle"),
    [
        (Quiet(0), True),
        (Quiet(0, closed=True), False),
        (Quiet(items.IN_HAND), False),
        (Quiet(items.IN_HAND, out=True), True),
        (Quiet(items.IN_HAND | items.CHANNEL_FULL), False),
        (Quiet(items.THROTTLED), False),
    ],
)
def test_idle_is_who_neither_asks_nor_takes(connection: Quiet, idle: bool) -> None:
    assert is_idle(connection, 101.0) is idle  # type: ignore[arg-type]
    assert not is_idle(connection, 99.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("passes", range(6))
async def test_the_last_connection_may_end_at_any_pass_of_the_loop(passes: int) -> None:
    world = simulated_world()
    async with running_plane(world, [api_versions]) as plane:
        for _ in range(20):
            socket = await world.network.connect("127.0.0.1", plane.endpoint.port)
            while not plane.connections:
                await trio.lowlevel.checkpoint()
            for _ in range(passes):
                await trio.lowlevel.checkpoint()
            plane.processor.roster.close(plane.connections[0], items.GONE)
            socket.close()
            await trio.testing.wait_all_tasks_blocked()

        assert plane.closed(items.GONE) == 20
