"""The plugins of a broker: their host, started before the first client is let in."""

from collections.abc import Sequence
from typing import Final

from trio_kafka.broker.errors import StartError
from trio_kafka.broker.site import Site
from trio_kafka.config.setting import ConfigError
from trio_kafka.errors import only_leaf
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.host import PluginHost
from trio_kafka.requests.parts import Parts

# The task.
PLUGINS: Final = "plugins"


def make_host(site: Site, parts: Parts, plugins: Sequence[Plugin] | None) -> PluginHost:
    """Of these plugins, or of the installed ones; nothing is imported yet."""
    shared = PluginHostDependencies(
        parts=parts,
        world=site.world,
        node=site.node,
        given=site.config.given,
        counters=site.counters,
        fail=site.tasks.fail,
    )
    host = PluginHost(shared, plugins)
    parts.plugins = host
    return host


async def start_plugins(site: Site, host: PluginHost) -> None:
    """All of them, in order. StartError for what a broker must not serve without."""
    try:
        await site.tasks.start(PLUGINS, host.run)
    except (ConfigError, PluginError, ExceptionGroup) as error:
        leaf = only_leaf(error)
        if isinstance(leaf, ConfigError | PluginError):
            raise StartError(str(leaf)) from error
        raise
