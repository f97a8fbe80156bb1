"""The plugin `faults`: its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trio_kafka.plugin import Operation, PluginContext, plugin
from trio_kafka_builtin.faults.settings import FaultSettings


# Outermost: no other plugin sees a request that a fault answers.
@plugin("faults", settings=FaultSettings, order=0, enabled=False)
@asynccontextmanager
async def faults(context: PluginContext[FaultSettings]) -> AsyncIterator[None]:
    """Test controls over HTTP: fault rules, recorded requests, limits of API versions."""
    from trio_kafka_builtin.faults.app import TestingApp  # noqa: PLC0415 - off by default
    from trio_kafka_builtin.faults.controls import open_controls  # noqa: PLC0415 - as above

    with context.node.child("rules", "part") as node, open_controls(context, node) as controls:
        needed = Operation.CLUSTER_ACTION  # also to look: recorded requests hold messages
        app = TestingApp(context.settings, controls)
        context.mount(context.settings.path, app, look=needed, change=needed)
        yield
