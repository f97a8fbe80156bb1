"""An older last version of an API, and APIs that are not there."""

import pytest
from trio.testing import MockClock

from trio_kafka.controls.api_limits import ApiLimits, NoVersionLeftError, ServedVersions
from trio_kafka.controls.api_names import UnknownApiError
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


async def offered(served: ServedBroker, key: int) -> tuple[int, int] | None:
    answer = await served.ask(ApiVersionsRequest("c", "1"), 3)
    api_keys = [api_key for api_key in answer.api_keys if api_key.api_key == key]
    return (api_keys[0].min_version, api_keys[0].max_version) if api_keys else None


async def test_an_api_is_offered_and_served_up_to_its_cap(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        limits = ApiLimits(served.broker)
        before = await offered(served, 12)
        handler = served.broker.parts.apis.get(12)
        assert handler is not None

        with limits.cap_versions("Heartbeat", 2):
            assert await offered(served, 12) == (0, 2)
            assert limits.limited == {"Heartbeat": (0, 2)}
            assert (await served.ask(HeartbeatRequest("g", 1, "m"), 2)).error_code != 0
            async with served.connect() as other:
                with pytest.raises((EOFError, ConnectionError)):
                    await other.ask(HeartbeatRequest("g", 1, "m"), 3)
            result = served.broker.parts.apis.get(12)
            assert result is not None
            assert result.handler is handler.handler

        assert await offered(served, 12) == before


async def test_an_api_is_switched_off_and_on(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        limits = ApiLimits(served.broker)
        off = limits.switch_off(HeartbeatRequest)

        assert await offered(served, 12) is None
        assert ServedVersions("Heartbeat", None, None) in limits.served
        async with served.connect() as other:
            with pytest.raises((EOFError, ConnectionError)):
                await other.ask(HeartbeatRequest("g", 1, "m"), 0)

        off.remove()
        off.remove()
        assert await offered(served, 12) is not None


async def test_two_version_limits_of_an_api_leave_their_common_versions(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        limits = ApiLimits(served.broker)
        limits.cap_versions("Heartbeat", 3)
        with limits.cap_versions("Heartbeat", 4, first=2):
            assert await offered(served, 12) == (2, 3)
        assert await offered(served, 12) == (0, 3)
        limits.cap_versions("Metadata", 5)
        limits.restore("Heartbeat")
        assert limits.limited == {"Metadata": (0, 5)}
        limits.clear()
        assert limits.limited == {}


async def test_version_limit_that_leaves_no_version_is_rejected(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served:
        limits = ApiLimits(served.broker)

        with pytest.raises(NoVersionLeftError, match="Fetch is left from 0 to 3: want some of 4"):
            limits.cap_versions("Fetch", 3)
        with pytest.raises(UnknownApiError, match="did you mean 'Fetch'"):
            limits.switch_off("Fecth")
        assert limits.limited == {}
