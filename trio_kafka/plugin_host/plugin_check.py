"""Check of installed plugins without starting them: can they be imported, are their
settings valid?
"""

from collections.abc import Iterator, Sequence

from trio_kafka.attributes import frozen
from trio_kafka.config.load import Layer
from trio_kafka.plugin_host.declaration import Plugin
from trio_kafka.plugin_host.discovery import Origin, installed
from trio_kafka.plugin_host.generation import describe
from trio_kafka.plugin_host.settings import is_off, problems, unknown_plugins


@frozen(kw_only=True)
class CheckedPlugin:
    """Result for one plugin, or for an entry point without one; problems: one line each."""

    name: str
    source: str
    plugin: Plugin | None
    problems: Sequence[str]


def check_plugins(layer: Layer, origins: Sequence[Origin] | None = None) -> Iterator[CheckedPlugin]:
    """Check every plugin; then report each setting of an unknown plugin under its name.

    layer: settings as written by the user. Modules are imported as generations and forgotten.
    """
    names: dict[str, str] = {}
    for origin in installed() if origins is None else origins:
        if is_off(origin.name, layer):
            names.setdefault(origin.name, origin.source)
            yield CheckedPlugin(name=origin.name, source=origin.source, plugin=None, problems=())
            continue
        try:
            plugins, imported = origin.load()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            names.setdefault(origin.name, origin.source)
            yield CheckedPlugin(
                name=origin.name,
                source=origin.source,
                plugin=None,
                problems=[f"its import failed: {describe(error)}"],
            )
            continue
        for plugin in plugins:
            errors = [str(error) for error in problems(plugin, layer)]
            if plugin.name in names:
                errors.append(f"the name {plugin.name} is taken by {names[plugin.name]}")
            names.setdefault(plugin.name, origin.source)
            yield CheckedPlugin(
                name=plugin.name, source=origin.source, plugin=plugin, problems=errors
            )
            if imported is not None:
                imported.release()
    for stranger in unknown_plugins(layer, names):
        yield CheckedPlugin(
            name=stranger.name, source=stranger.where or "", plugin=None, problems=[stranger.reason]
        )
