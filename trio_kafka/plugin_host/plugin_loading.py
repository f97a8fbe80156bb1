"""Loading of a broker's plugins: import of the enabled ones and validation of their settings.

A fault of one plugin fails that plugin. The start fails for a fault that belongs to no plugin, or
if the plugin is required: it is declared `closed` or `fatal`, or cannot be imported although
settings name it.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.dependencies import PluginHostDependencies
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.generation import FAILED_REQUESTS, describe
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.hosted_plugin import HostedPlugin
from trio_kafka.plugin_host.lifecycle import Lifecycle, State
from trio_kafka.plugin_host.settings import (
    full_name,
    has_settings,
    is_off,
    read_settings,
    unknown_plugins,
)

_logger: Final = get_logger(__name__)


def load_plugins(
    origins: Iterable[Origin],
    dependencies: PluginHostDependencies,
    node: Node,
    *,
    hosted: dict[str, HostedPlugin],
) -> None:
    """Add the plugins of these origins to `hosted` by name, each as soon as it is known.

    Each is then validated or failed. Raises ConfigError for settings of an unknown plugin,
    PluginError for a failed plugin that is required.
    """
    loader = _PluginLoader(dependencies, node, hosted)
    for origin in origins:
        loader.load(origin)
    for error in unknown_plugins(dependencies.layer, loader.hosted):
        raise error


@define
class _PluginLoader:
    dependencies: PluginHostDependencies
    node: Node
    hosted: dict[str, HostedPlugin]

    def load(self, origin: Origin) -> None:
        """Load all plugins of an origin."""
        if is_off(origin.name, self.dependencies.layer):
            self._add(origin.name, origin).off = True
            return
        try:
            plugins, imported = origin.load()
        except BaseException as error:  # noqa: BLE001 - a module may raise anything
            hosted = self._add(origin.name, origin)
            if not hosted.lifecycle.over:
                self._fail(hosted, error, f"the import of {origin.source} failed")
            return
        for plugin in plugins:
            hosted = self._add(plugin.name, origin, plugin)
            hosted.imported = imported
            self._validate(hosted, plugin)

    def _add(self, name: str, origin: Origin, plugin: Plugin | None = None) -> HostedPlugin:
        """Add a plugin by name. A second plugin of the same name gets another name and fails."""
        clash = self.hosted.get(name)
        shown = name if clash is None else f"{name} ({origin.source})"
        lifecycle = Lifecycle(self.dependencies.world.clock.wall, partial(_log_state, shown))
        hosted = HostedPlugin(
            name=shown,
            origin=origin,
            plugin=plugin,
            lifecycle=lifecycle,
            node=self.node,
            failed_requests=partial(
                self.dependencies.counters.value, FAILED_REQUESTS, plugin=shown
            ),
        )
        hosted.node = self.node.add(shown, "plugin", hosted.figures)
        self.hosted[shown] = hosted
        if clash is not None:
            reason = f"{origin.source}: the name {name} is taken by {clash.origin.source}"
            self._fail(hosted, PluginError(reason), "")
        return hosted

    def _validate(self, hosted: HostedPlugin, plugin: Plugin) -> None:
        if hosted.lifecycle.over:
            return
        try:
            hosted.settings = read_settings(plugin, self.dependencies.layer)
        except ConfigError as error:
            self._fail(hosted, error, "")
        except BaseException as error:  # noqa: BLE001 - a settings class may raise anything
            self._fail(hosted, error, "its settings class failed")
        else:
            hosted.lifecycle.enter(State.VALIDATED)

    def _fail(self, hosted: HostedPlugin, error: BaseException, step: str) -> None:
        """Fail a plugin before its start. Raises PluginError if it is required."""
        text = f"{step}: {describe(error)}" if step else describe(error)
        hosted.failures += 1
        hosted.lifecycle.enter(State.FAILED, text)
        name, plugin, layer = hosted.name, hosted.plugin, self.dependencies.layer
        if plugin is None:
            # Only its declaration would say whether it is closed: without it, the broker might
            # pass what the plugin should mask or reject.
            if has_settings(name, layer):
                raise PluginError(
                    f"plugin {name}: {text}. Settings name this plugin, so the broker does not"
                    f" start without it. Set {full_name(name, 'enabled')}=false to start without it"
                ) from error
            return
        policy = layer.get(full_name(name, "policy"))
        if plugin.closed or (policy.text.strip() if policy else plugin.policy) == "fatal":
            raise PluginError(f"plugin {name}: {text}") from error


def _log_state(name: str, state: State, error: str) -> None:
    if error:
        _logger.error("plugin state changed", plugin=name, state=state.value, reason=error)
