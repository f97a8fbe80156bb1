"""The handler group is what a plane wants of its handlers."""

from trio.testing import MockClock

from trio_kafka.network.handlers import Handlers
from trio_kafka.testing.planes import running_plane
from trio_kafka.testing.simulation import simulated_world


async def test_the_handler_group_of_a_plane_satisfies_the_handlers_protocol(
    autojump_clock: MockClock,
) -> None:
    async with running_plane(simulated_world(), []) as plane:
        handlers: Handlers = plane.group

        assert handlers.names == {}
