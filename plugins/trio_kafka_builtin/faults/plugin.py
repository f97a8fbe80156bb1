"""The plugin `faults`: its settings and its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, integer, plugin, string


@frozen(kw_only=True)
class FaultSettings:
    """Settings `plugin.faults.<name>`."""

    path: str = string("/faults", "Path at which it is mounted on the HTTP plane.")
    seed: str = string("0", "Seed of rules without their own: equal requests get equal faults.")
    most: int = integer(100, "Most rules.", low=1, high=1000)
    max_body_bytes: int = integer(65536, "Largest body of a request.", low=1)


# Outermost: no other plugin sees a request that a fault answers.
@plugin("faults", settings=FaultSettings, order=0, enabled=False)
@asynccontextmanager
async def faults(context: PluginContext[FaultSettings]) -> AsyncIterator[None]:
    """Delay requests, fail them or close their connections, by rules set over HTTP."""
    from trio_kafka_builtin.faults.app import FaultApi  # noqa: PLC0415 - off by default

    with context.node.child("rules", "part") as node:
        context.mount(context.settings.path, FaultApi(context, node))
        yield
