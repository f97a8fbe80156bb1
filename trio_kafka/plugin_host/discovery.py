"""Which plugins there are: entry points of the group `trio_kafka.plugins`, or those that are given.

An entry point names a `Plugin`, or a module for all `Plugin`s in it. Found by its name alone it is
not imported where a setting says that it is not enabled.
"""

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.importing import Imported, import_generation

GROUP: Final = "trio_kafka.plugins"


class NoPluginError(Exception):
    """Something that should be a plugin is none; the message says what it is."""


@frozen
class Origin:
    """Where plugins come from. name: of the entry point, or of the one plugin; source: for people.

    first: the first generation, where it is there already. module: imported for every other one.
    """

    name: str
    source: str
    module: str
    attribute: str
    first: Plugin | None = field(default=None, eq=False)

    def load(self, *, afresh: bool = False) -> tuple[list[Plugin], Imported | None]:
        """Its plugins, and the modules that were imported for them, with as many users.

        Raises whatever the import raises, NoPluginError.
        """
        if self.first is not None and not afresh:
            return [self.first], None
        module, imported = import_generation(self.module, owner=self.name, afresh=afresh)
        try:
            found = plugins_in(module, self.attribute, self.source)
        except BaseException:
            imported.release()
            raise
        imported.users = len(found)
        return found, imported


def plugins_in(module: ModuleType, attribute: str, source: str) -> list[Plugin]:
    """What an entry point names. Raises NoPluginError."""
    found: Any = module
    for name in filter(None, attribute.split(".")):
        found = getattr(found, name, None)
    if isinstance(found, Plugin):
        return [found]
    if isinstance(found, ModuleType):
        made = [one for one in vars(found).values() if isinstance(one, Plugin)]
        if made:
            return made
        raise NoPluginError(f"{source}: the module has no plugin: mark one with @plugin")
    raise NoPluginError(f"{source} is {found!r}, not a plugin: mark it with @plugin")


def installed(group: str = GROUP) -> list[Origin]:
    """What is installed, in the order of names; imports nothing."""
    points: Iterable[EntryPoint] = entry_points(group=group)
    return [
        Origin(
            point.name, f"entry point {point.name} = {point.value}", point.module, point.attr or ""
        )
        for point in sorted(points, key=lambda point: (point.name, point.value))
    ]


def given(plugins: Iterable[Plugin]) -> list[Origin]:
    """Plugins that a program or a test has in its hands."""
    return [
        Origin(one.name, f"plugin {one.name} of {one.module}", one.module, "", first=one)
        for one in plugins
    ]
