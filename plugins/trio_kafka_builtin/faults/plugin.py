"""The plugin `faults`: its settings and its life. What it does is imported when it is turned on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, integer, plugin, string


@frozen(kw_only=True)
class FaultSettings:
    """`plugin.faults.<name>`."""

    path: str = string("/faults", "Where it is mounted on the HTTP plane.")
    seed: str = string(
        "0", "Of rules that have no seed of their own: the same requests have the same faults."
    )
    most: int = integer(100, "How many rules there may be.", low=1, high=1000)
    max_body_bytes: int = integer(65536, "The largest body of a request.", low=1)


# Nearest to the client: a request that has a fault is seen by no other plugin.
@plugin("faults", settings=FaultSettings, order=0, enabled=False)
@asynccontextmanager
async def faults(context: PluginContext[FaultSettings]) -> AsyncIterator[None]:
    """Makes requests late, fail or lose their connection, by rules that come and go over HTTP."""
    from trio_kafka_builtin.faults.app import FaultApi  # noqa: PLC0415 - off by default

    with context.node.child("rules", "part") as node:
        context.mount(context.settings.path, FaultApi(context, node))
        yield
