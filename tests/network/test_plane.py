"""The planes together: from a connection to an answer."""

import trio
from trio_kafka.testing.planes import running_plane
from trio_kafka_apis.k18_api_versions import api_versions

from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.scripted_client import connected
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld


async def test_api_versions_is_answered_over_real_sockets() -> None:
    world = RealWorld()
    async with (
        running_plane(world, [api_versions]) as plane,
        connected(world, plane.endpoint) as client,
    ):
        answer = await client.ask(ApiVersionsRequest("trio", "1"), 3)
        assert answer.error_code == 0
        assert [one.api_key for one in answer.api_keys] == [18]
