"""The watchdog as a part of the node.

It names the code that blocks the loop, counts the block, and applies the policy of the plugin that
the code belongs to.
"""

from typing import Final

from trio_kafka.broker.node import Node, Part
from trio_kafka.broker.parts.planes import Planes
from trio_kafka.introspect.watchdog import Block, Watchdog
from trio_kafka.plugin_host.host import PluginHost

_TASK: Final = "watchdog"


async def _open(node: Node) -> Watchdog | None:
    """Watch the loop of the data plane, unless `trio.watchdog.ms` is 0.

    It starts before the plugins, whose start it watches too.
    """
    limit_ms = node.config.trio_watchdog_ms
    if not limit_ms:
        return None

    def owner_of(module: str) -> str | None:
        host = node.get(PluginHost)
        return None if host is None else host.owner_of(module)

    def report(block: Block) -> None:
        node.counters.add("loop_blocks", plugin=block.owner)
        if block.owner:
            node[PluginHost].blocking(block.owner, block.seconds, block.module)

    watchdog = Watchdog(
        world=node.world,
        loop=node[Planes].data.budget,
        node=node.tree,
        limit_s=limit_ms / 1000,
        owner_of=owner_of,
        on_block=report,
    )
    await node.tasks.start(_TASK, watchdog.run)
    return watchdog


WATCHDOG: Final = Part(kind=Watchdog, open=_open)
