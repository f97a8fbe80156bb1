"""Begins generations: what it needs of the host."""

import pytest
import trio

from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.hosted import Hosted
from trio_kafka.plugin_host.launcher import Launcher
from trio_kafka.plugin_host.life import Life
from trio_kafka.testing.harness import PluginHarness


async def test_nothing_begins_before_the_host_runs() -> None:
    async with PluginHarness() as harness:
        launcher = Launcher(harness.host.site, lambda hosted, generation: None)

        with pytest.raises(RuntimeError, match="does not run"):
            launcher.spawn("x", trio.sleep_forever)


async def test_what_was_not_validated_cannot_begin() -> None:
    async with PluginHarness() as harness:
        launcher = Launcher(harness.host.site, lambda hosted, generation: None)
        hosted = Hosted(
            name="a",
            origin=Origin("a", "", "a", "a"),
            life=Life(lambda: 0.0, lambda state, error: None),
            node=Node("a", "plugin"),
        )

        with pytest.raises(RuntimeError, match="a was not validated"):
            await launcher.begin(hosted)
