"""The plugin host as a part of the broker; it starts before the first client is accepted."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.broker.build_context import BuildContext
from trio_kafka.broker.errors import StartError
from trio_kafka.config.setting import ConfigError
from trio_kafka.errors import only_leaf
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.requests.parts import Parts

# Task name.
PLUGINS: Final = "plugins"


def make_host(context: BuildContext, parts: Parts, plugins: Sequence[Plugin] | None) -> PluginHost:
    """Make the host of the given or installed plugins; nothing is imported yet."""
    dependencies = PluginHostDependencies(
        parts=parts,
        world=context.world,
        node=context.node,
        given=context.config.given,
        counters=context.counters,
        fail=context.tasks.fail,
    )
    host = PluginHost(dependencies, plugins)
    parts.plugins = host
    return host


async def start_plugins(context: BuildContext, host: PluginHost) -> None:
    """Start all plugins in order. Raises StartError for a failure that prevents serving."""
    try:
        await context.tasks.start(PLUGINS, host.run)
    except (ConfigError, PluginError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, ConfigError | PluginError):
            raise StartError(str(leaf)) from error
        raise
