"""Settings of plugins, `plugin.<name>.<key>=value`: those of every plugin and a plugin's own."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.config.load import Layer, locate_error
from trio_kafka.config.plugins import HOST_SETTINGS, HostSettings
from trio_kafka.config.setting import ConfigError, Setting, declared_settings

if TYPE_CHECKING:
    from trio_kafka.plugin_host.declaration import Plugin

_PREFIX: Final = "plugin."


@frozen(kw_only=True)
class Settings:
    """Settings of one plugin: the host's view and the plugin's own."""

    host: HostSettings
    own: Any


def full_name(plugin: str, key: str) -> str:
    """Return the full name of a plugin's setting, as users write it."""
    return f"{_PREFIX}{plugin}.{key}"


def is_off(plugin: str, given: Layer) -> bool:
    """Return whether a setting disables a plugin; known before its import."""
    enabled = given.get(full_name(plugin, "enabled"))
    return enabled is not None and enabled.text.strip().lower() == "false"


def settings_of_plugin(plugin: "Plugin") -> Mapping[str, Setting]:
    """Return all settings of a plugin by full name, with the defaults that it declares.

    Its own come first, then those that every plugin has.
    """
    host = {
        "enabled": plugin.enabled,
        "order": plugin.order,
        "policy": plugin.policy,
        "deadline.ms": round((plugin.deadline_s or 0) * 1000),
        "limit": plugin.limit or 0,
    }
    found = dict(declared_settings(plugin.settings))
    for key, setting in HOST_SETTINGS.items():
        found[key] = evolve(setting, default=host.get(key, setting.default))
    return {
        (name := full_name(plugin.name, key)): evolve(setting, name=name)
        for key, setting in found.items()
    }


def read_settings(plugin: "Plugin", given: Layer) -> Settings:
    """Apply given values over the defaults. Raises ConfigError for the first problem."""
    for error in problems(plugin, given):
        raise error
    known = settings_of_plugin(plugin)
    values: dict[str, Any] = {}
    for name, setting in known.items():
        key = name.removeprefix(full_name(plugin.name, ""))
        field = key.replace(".", "_")
        values[field] = setting.parse(given[name].text) if name in given else setting.default
    host = {key.replace(".", "_"): values.pop(key.replace(".", "_")) for key in HOST_SETTINGS}
    return Settings(host=HostSettings(**host), own=plugin.settings(**values))


def problems(plugin: "Plugin", given: Layer) -> Iterator[ConfigError]:
    """Return all problems of a plugin's settings, each with its place and without secrets."""
    known = settings_of_plugin(plugin)
    for name, one in given.items():
        if not name.startswith(full_name(plugin.name, "")):
            continue
        setting = known.get(name)
        try:
            if setting is None:
                near = get_close_matches(name, known, n=1, cutoff=0.7)
                hint = f": did you mean {near[0]}?" if near else ""
                raise ConfigError(name, f"plugin {plugin.name} has no such setting{hint}")
            setting.parse(one.text)
        except ConfigError as error:
            yield locate_error(error, given)
    for name, setting in known.items():
        if setting.required and name not in given:
            yield ConfigError(name, "must be set")


def unknown_plugins(given: Layer, plugins: Iterable[str]) -> Iterator[ConfigError]:
    """Return the settings of plugins that are not installed."""
    names = set(plugins)
    for name, one in given.items():
        words = name.split(".", 2)
        if words[0] == "plugin" and len(words) == 3 and words[1] not in names:
            near = get_close_matches(words[1], sorted(names), n=1, cutoff=0.6)
            hint = f": did you mean {near[0]}?" if near else ""
            reason = f"no plugin {words[1]} is installed{hint}"
            yield ConfigError(name, reason, one.where)


def shown(plugin: "Plugin", settings: Settings) -> dict[str, str]:
    """Return the plugin's own settings by key, with secrets hidden."""
    found = {}
    for key, setting in declared_settings(plugin.settings).items():
        value = getattr(settings.own, setting.field)
        text = setting.show(value)
        found[key] = "(hidden)" if setting.sensitive and value is not None else text or ""
    return found
