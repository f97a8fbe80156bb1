"""Broker parts that the kit needs."""

from trio.testing import MockClock

from trio_kafka.controls.running import HasParts
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.simulation import simulated_world


async def test_broker_and_plugin_harness_both_have_parts(autojump_clock: MockClock) -> None:
    async with served_broker(simulated_world()) as served, PluginHarness() as harness:
        running: list[HasParts] = [served.broker, harness]

        assert all(owner.parts.interceptors is not None for owner in running)
