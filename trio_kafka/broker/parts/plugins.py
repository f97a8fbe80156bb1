"""The plugin host as a part of the node; it starts before the first client is accepted."""

from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.node import Node, Part, Stage
from trio_kafka.config.setting import ConfigError
from trio_kafka.errors import only_leaf
from trio_kafka.introspect.log import get_logger
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.requests.plugins import Plugins

_TASK: Final = "plugins"
_logger: Final = get_logger(__name__)


async def _open(node: Node) -> PluginHost:
    """Start the given or installed plugins in order.

    Raises StartError for a failure that prevents serving.
    """
    dependencies = PluginHostDependencies(
        parts=node.handler_parts,
        world=node.world,
        node=node.tree,
        layer=node.config.texts,
        counters=node.counters,
        fail=node.tasks.fail,
    )
    # Known at once: the watchdog asks it, and plugins find it, while they start.
    host = node.add(PluginHost, PluginHost(dependencies, node.options.plugins))
    try:
        await node.tasks.start(_TASK, host.run)
    except (ConfigError, PluginError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, ConfigError | PluginError):
            raise StartError(str(leaf)) from error
        raise
    return host


async def _stop(node: Node) -> None:
    """Stop plugins in order while handlers still run for their last requests."""
    host = node[PluginHost]
    await host.stop()
    if abandoned := host.abandoned:
        _logger.error("plugins abandoned", plugins="; ".join(abandoned))
        host.cancel_abandoned()
    else:
        await node.tasks.stop(_TASK)


PLUGINS: Final = Part(
    kind=PluginHost,
    open=_open,
    stops={Stage.PLUGINS: _stop},
    step="plugins",
    face=Plugins,
)
