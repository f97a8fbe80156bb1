"""Which plugins a broker has: imported where they are enabled, with settings that were read.

What is wrong with one is its own failure; only what no plugin can answer for refuses the start.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.config.setting import ConfigError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Node
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.discovery import Origin
from trio_kafka.plugin_host.generation import describe
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.plugin_host.hosted import Hosted
from trio_kafka.plugin_host.life import Life, State
from trio_kafka.plugin_host.settings import full_name, read_settings, strangers
from trio_kafka.plugin_host.site import HostSite

_logger: Final = get_logger(__name__)


def admit(origins: Iterable[Origin], site: HostSite, node: Node, hosted: dict[str, Hosted]) -> None:
    """Add the plugins of these origins to `hosted` by name, each as soon as it is known.

    Each is then validated or failed. Raises ConfigError for settings of a plugin that is not there,
    PluginError for one that must not be missing.
    """
    found = _Admission(site, node, hosted)
    for origin in origins:
        found.take(origin)
    for error in strangers(site.given, found.hosted):
        raise error


@define
class _Admission:
    site: HostSite
    node: Node
    hosted: dict[str, Hosted]

    def take(self, origin: Origin) -> None:
        """All plugins of an origin."""
        enabled = self.site.given.get(full_name(origin.name, "enabled"))
        if enabled is not None and enabled.text.strip().lower() == "false":
            self._admit(origin.name, origin).off = True
            return
        try:
            found, imported = origin.load()
        except BaseException as error:  # noqa: BLE001 - a module may raise what it likes
            hosted = self._admit(origin.name, origin)
            self._refuse(hosted, error, f"{origin.source} cannot be imported")
            return
        for plugin in found:
            hosted = self._admit(plugin.name, origin)
            hosted.imported = imported
            self._validate(hosted, plugin)

    def _admit(self, name: str, origin: Origin) -> Hosted:
        """By its name; a second one of that name is kept under another, and fails."""
        clash = self.hosted.get(name)
        shown = name if clash is None else f"{name} ({origin.source})"
        life = Life(self.site.world.clock.wall, partial(_tell, shown))
        hosted = Hosted(name=shown, origin=origin, life=life, node=self.node)
        hosted.node = self.node.add(shown, "plugin", hosted.figures)
        self.hosted[shown] = hosted
        if clash is not None:
            reason = f"{origin.source}: {clash.origin.source} has the name {name} already"
            self._refuse(hosted, PluginError(reason), "")
        return hosted

    def _validate(self, hosted: Hosted, plugin: Plugin) -> None:
        if hosted.life.over:
            return
        hosted.plugin = plugin
        try:
            hosted.settings = read_settings(plugin, self.site.given)
        except ConfigError as error:
            self._refuse(hosted, error, "")
        except BaseException as error:  # noqa: BLE001 - a converter of its class may raise anything
            self._refuse(hosted, error, "its settings cannot be made")
        else:
            hosted.life.go(State.VALIDATED)

    def _refuse(self, hosted: Hosted, error: BaseException, what: str) -> None:
        """It fails before it was begun, by the policy that can be known."""
        text = f"{what}: {describe(error)}" if what else describe(error)
        hosted.failures += 1
        hosted.life.go(State.FAILED, text)
        policy = self.site.given.get(full_name(hosted.name, "policy"))
        named = policy.text.strip() if policy else hosted.plugin.policy if hosted.plugin else ""
        if named == "fatal" or (hosted.plugin is not None and hosted.plugin.closed):
            raise PluginError(f"plugin {hosted.name}: {text}") from error


def _tell(name: str, state: State, error: str) -> None:
    if error:
        _logger.error("plugin", plugin=name, state=state.value, reason=error)
