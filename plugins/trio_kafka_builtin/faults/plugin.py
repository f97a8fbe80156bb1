"""The plugin `faults`: its settings and its lifetime. The rest is imported once it is enabled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from attrs import frozen

from trio_kafka.plugin import PluginContext, boolean, integer, plugin, string


@frozen(kw_only=True)
class FaultSettings:
    """Settings `plugin.faults.<name>`. `trio-kafka start --testing` gives them."""

    path: str = string("/testing/v1", "Path at which it is mounted on the HTTP plane.")
    token_required: bool = boolean(
        True, "Reject requests without the HTTP plane's token, also on loopback."
    )
    seed: str = string("0", "Seed of rules without their own: equal requests get equal faults.")
    most: int = integer(100, "Most rules.", low=1, high=1000)
    most_requests: int = integer(10_000, "Most recorded requests; the oldest go.", low=1)
    max_body_bytes: int = integer(1 << 20, "Largest body of a request.", low=1)


# Outermost: no other plugin sees a request that a fault answers.
@plugin("faults", settings=FaultSettings, order=0, enabled=False)
@asynccontextmanager
async def faults(context: PluginContext[FaultSettings]) -> AsyncIterator[None]:
    """Test controls over HTTP: fault rules, recorded requests, limits of API versions."""
    from trio_kafka_builtin.faults.app import TestingApp  # noqa: PLC0415 - off by default
    from trio_kafka_builtin.faults.controls import open_controls  # noqa: PLC0415 - as above

    with context.node.child("rules", "part") as node, open_controls(context, node) as controls:
        context.mount(context.settings.path, TestingApp(context.settings, controls))
        yield
