"""The watchdog as a part of the broker.

It names the code that blocks the loop, counts the block, and applies the policy of the plugin that
the code belongs to.
"""

from typing import Final

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.introspect.watchdog import Block, Watchdog
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.scheduling.loop_budget import LoopBudget

# Task name.
WATCHDOG: Final = "watchdog"


async def start_watchdog(context: BuildContext, budget: LoopBudget, host: PluginHost) -> None:
    """Watch the loop of `budget`, unless `trio.watchdog.ms` is 0."""
    limit_ms = context.config.trio_watchdog_ms
    if not limit_ms:
        return

    def report(block: Block) -> None:
        context.counters.add("loop_blocks", plugin=block.owner)
        if block.owner:
            host.blocking(block.owner, block.seconds, block.module)

    watchdog = Watchdog(
        context.world,
        budget,
        context.node,
        limit_ms / 1000,
        owner_of=host.owner_of,
        on_block=report,
    )
    await context.tasks.start(WATCHDOG, watchdog.run)
