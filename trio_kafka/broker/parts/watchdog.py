"""The watchdog of a broker: who blocks its loop is named, and a plugin's policy is told of it."""

from typing import Final

from trio_kafka.broker.site import Site
from trio_kafka.introspect.watchdog import Block, Watchdog
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.scheduling.loop_budget import LoopBudget

# The task.
WATCHDOG: Final = "watchdog"


async def start_watchdog(site: Site, budget: LoopBudget, host: PluginHost) -> None:
    """Watch the loop that `budget` follows, unless `trio.watchdog.ms` is 0."""
    limit_ms = site.config.trio_watchdog_ms
    if not limit_ms:
        return

    def tell(block: Block) -> None:
        site.counters.add("loop_blocks", plugin=block.owner)
        if block.owner:
            host.blocking(block.owner, block.seconds, block.module)

    watchdog = Watchdog(
        site.world, budget, site.node, limit_ms / 1000, owner_of=host.owner_of, on_block=tell
    )
    await site.tasks.start(WATCHDOG, watchdog.run)
