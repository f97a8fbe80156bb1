"""Discovery of plugins: entry points of the group `trio_kafka.plugins`, or objects passed in.

An entry point names a `Plugin`, or a module with any number of them. If a setting disables a
plugin, its entry point is not imported.
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.importing import Imported, import_generation

GROUP: Final = "trio_kafka.plugins"


class NoPluginError(Exception):
    """Object that was expected to be a plugin; the message says what it is."""


@frozen(kw_only=True)
class Origin:
    """Source of plugins.

    name: of the entry point or plugin. source: description for users. module: imported for each
    generation.
    first: the plugin itself, for the first generation, if it was passed in.
    """

    name: str
    source: str
    module: str
    attribute: str
    first: Plugin | None = field(default=None, eq=False)

    def load(self, *, afresh: bool = False) -> tuple[list[Plugin], Imported | None]:
        """Return the plugins and the modules imported for them, with one user per plugin.

        Raises NoPluginError, and whatever the import raises.
        """
        if self.first is not None and not afresh:
            return [self.first], None
        module, imported = import_generation(self.module, owner=self.name, afresh=afresh)
        try:
            plugins = plugins_in(module, self.attribute, self.source)
        except BaseException:
            imported.release()
            raise
        imported.users = len(plugins)
        return plugins, imported


def plugins_in(module: ModuleType, attribute: str, source: str) -> list[Plugin]:
    """Return the plugins that an entry point names. Raises NoPluginError."""
    value: object = module
    for name in filter(None, attribute.split(".")):
        value = getattr(value, name, None)
    if isinstance(value, Plugin):
        return [value]
    if isinstance(value, ModuleType):
        plugins = [candidate for candidate in vars(value).values() if isinstance(candidate, Plugin)]
        if plugins:
            return plugins
        raise NoPluginError(
            f"{source}: the module declares no plugin, want a function with @plugin"
        )
    raise NoPluginError(f"{source}: want a plugin or a module, found {value!r}")


def installed(group: str = GROUP) -> list[Origin]:
    """Return the installed entry points by name; imports nothing."""
    points: Iterable[EntryPoint] = entry_points(group=group)
    return [
        Origin(
            name=point.name,
            source=f"entry point {point.name} = {point.value}",
            module=point.module,
            attribute=point.attr or "",
        )
        for point in sorted(points, key=lambda point: (point.name, point.value))
    ]


def of_plugins(plugins: Iterable[Plugin]) -> list[Origin]:
    """Return the sources of plugins that a program or test passes in."""
    return [
        Origin(
            name=plugin.name,
            source=f"plugin {plugin.name} of {plugin.module}",
            module=plugin.module,
            attribute="",
            first=plugin,
        )
        for plugin in plugins
    ]
