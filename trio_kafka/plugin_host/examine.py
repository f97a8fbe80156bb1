"""What is installed, looked at without a start: can it be imported, are its settings right."""

from collections.abc import Iterator, Sequence

from trio_kafka.attributes import frozen
from trio_kafka.config.load import Layer
from trio_kafka.plugin_host.declared import Plugin
from trio_kafka.plugin_host.discovery import Origin, installed
from trio_kafka.plugin_host.generation import describe
from trio_kafka.plugin_host.settings import full_name, problems, strangers


@frozen
class Examined:
    """One plugin, or an entry point that gave none; problems: one line each."""

    name: str
    source: str
    plugin: Plugin | None
    problems: Sequence[str]


def examine(given: Layer, origins: Sequence[Origin] | None = None) -> Iterator[Examined]:
    """Every plugin; then, under the name of its setting, each that is not there.

    given: settings as they were written down. Modules are imported as generations, and forgotten.
    """
    names: dict[str, str] = {}
    for origin in installed() if origins is None else origins:
        if _is_off(given, origin.name):
            names.setdefault(origin.name, origin.source)
            yield Examined(origin.name, origin.source, None, ())
            continue
        try:
            plugins, imported = origin.load()
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            names.setdefault(origin.name, origin.source)
            yield Examined(origin.name, origin.source, None, [f"not imported: {describe(error)}"])
            continue
        for plugin in plugins:
            found = [str(error) for error in problems(plugin, given)]
            if plugin.name in names:
                found.append(f"{names[plugin.name]} has the name {plugin.name} already")
            names.setdefault(plugin.name, origin.source)
            yield Examined(plugin.name, origin.source, plugin, found)
            if imported is not None:
                imported.release()
    for stranger in strangers(given, names):
        yield Examined(stranger.name, stranger.where or "", None, [stranger.reason])


def _is_off(given: Layer, name: str) -> bool:
    enabled = given.get(full_name(name, "enabled"))
    return enabled is not None and enabled.text.strip().lower() == "false"
