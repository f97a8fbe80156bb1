"""`plugin.<name>.<key>=value`: what every plugin has, and what one declares for itself."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.config.load import Layer, locate_error
from trio_kafka.config.plugins import HOST_SETTINGS, HostSettings
from trio_kafka.config.setting import ConfigError, Setting, declared_settings

if TYPE_CHECKING:
    from trio_kafka.plugin_host.declared import Plugin

_PREFIX: Final = "plugin."


@frozen(kw_only=True)
class Settings:
    """Of one plugin: what the host obeys, and what the plugin reads."""

    host: HostSettings
    own: Any


def full_name(plugin: str, key: str) -> str:
    """The name that a user writes."""
    return f"{_PREFIX}{plugin}.{key}"


def settings_of_plugin(plugin: "Plugin") -> Mapping[str, Setting]:
    """All of its settings by full name, those of every plugin last, with its own defaults."""
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
    """What was given, over the defaults. Raises ConfigError, of the first culprit."""
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
    """What is wrong with a plugin's settings, each with its place and without secrets."""
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


def strangers(given: Layer, plugins: Iterable[str]) -> Iterator[ConfigError]:
    """Settings of plugins that are not there."""
    names = set(plugins)
    for name, one in given.items():
        words = name.split(".", 2)
        if words[0] == "plugin" and len(words) == 3 and words[1] not in names:
            near = get_close_matches(words[1], sorted(names), n=1, cutoff=0.6)
            hint = f": did you mean {near[0]}?" if near else ""
            reason = f"no plugin {words[1]} is installed{hint}"
            yield ConfigError(name, reason, one.where)


def shown(plugin: "Plugin", settings: Settings) -> dict[str, str]:
    """Its own settings by key, as they may be shown."""
    found = {}
    for key, setting in declared_settings(plugin.settings).items():
        value = getattr(settings.own, setting.field)
        text = setting.show(value)
        found[key] = "(hidden)" if setting.sensitive and value is not None else text or ""
    return found
