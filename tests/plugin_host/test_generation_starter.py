"""Begins generations: what it needs of the host."""

import pytest
import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.generation_starter import GenerationStarter
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.lifecycle import Lifecycle
from trio_kafka.testing.harness import PluginHarness


async def test_spawning_before_the_host_runs_raises_runtime_error() -> None:
    async with PluginHarness() as harness:
        launcher = GenerationStarter(harness.host.dependencies, lambda hosted, generation: None)

        with pytest.raises(RuntimeError, match="does not run"):
            launcher.spawn("x", trio.sleep_forever)


async def test_a_plugin_that_was_not_validated_cannot_be_started() -> None:
    async with PluginHarness() as harness:
        launcher = GenerationStarter(harness.host.dependencies, lambda hosted, generation: None)
        hosted = HostedPlugin(
            name="a",
            origin=Origin(name="a", source="", module="a", attribute="a"),
            lifecycle=Lifecycle(lambda: 0.0, lambda state, error: None),
            node=Node("a", "plugin"),
            failed_requests=lambda: 0,
        )

        with pytest.raises(RuntimeError, match="a was not validated"):
            await launcher.begin(hosted)
