"""Settings of plugins, `plugin.<name>.<key>=value`: those of every plugin and a plugin's own."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.config.load import Layer, locate_error
from trio_kafka.config.plugins import HOST_SETTINGS, PRINCIPAL, HostSettings
from trio_kafka.config.setting import ConfigError, Setting, declared_settings

if TYPE_CHECKING:
    from trio_kafka.plugin_host.declaration import Plugin

_PREFIX: Final = "plugin."


@frozen(kw_only=True)
class Settings:
    """Settings of one plugin: the host's view and the plugin's own."""

    host: HostSettings
    own: object


def full_name(plugin: str, key: str) -> str:
    """Return the full name of a plugin's setting, as users write it."""
    return f"{_PREFIX}{plugin}.{key}"


def is_off(plugin: str, layer: Layer) -> bool:
    """Return whether a setting disables a plugin; known before its import."""
    enabled = layer.get(full_name(plugin, "enabled"))
    return enabled is not None and enabled.text.strip().lower() == "false"


def has_settings(plugin: str, layer: Layer) -> bool:
    """Return whether a setting names a plugin."""
    return any(name.startswith(full_name(plugin, "")) for name in layer)


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
    settings = dict(declared_settings(plugin.settings))
    for key, setting in HOST_SETTINGS.items():
        if key == PRINCIPAL and key in settings:
            continue
        settings[key] = evolve(setting, default=host.get(key, setting.default))
    return {
        (name := full_name(plugin.name, key)): evolve(setting, name=name)
        for key, setting in settings.items()
    }


def read_settings(plugin: "Plugin", layer: Layer) -> Settings:
    """Apply given values over the defaults. Raises ConfigError for the first problem."""
    for error in problems(plugin, layer):
        raise error
    settings = settings_of_plugin(plugin)
    values: dict[str, Any] = {}
    for name, setting in settings.items():
        key = name.removeprefix(full_name(plugin.name, ""))
        field = key.replace(".", "_")
        values[field] = setting.parse(layer[name].text) if name in layer else setting.default
    fields = [key.replace(".", "_") for key in HOST_SETTINGS]
    host = {field: values[field] for field in fields}
    own_fields = {setting.field for setting in declared_settings(plugin.settings).values()}
    values = {field: value for field, value in values.items() if field in own_fields}
    return Settings(host=HostSettings(**host), own=plugin.settings(**values))


def problems(plugin: "Plugin", layer: Layer) -> Iterator[ConfigError]:
    """Return all problems of a plugin's settings, each with its place and without secrets."""
    settings = settings_of_plugin(plugin)
    for name, value in layer.items():
        if not name.startswith(full_name(plugin.name, "")):
            continue
        setting = settings.get(name)
        try:
            if setting is None:
                near = get_close_matches(name, settings, n=1, cutoff=0.7)
                hint = f": did you mean {near[0]}?" if near else ""
                raise ConfigError(name, f"plugin {plugin.name} has no such setting{hint}")
            setting.parse(value.text)
        except ConfigError as error:
            yield locate_error(error, layer)
    for name, setting in settings.items():
        if setting.required and name not in layer:
            yield ConfigError(name, "must be set")


def unknown_plugins(layer: Layer, plugins: Iterable[str]) -> Iterator[ConfigError]:
    """Return the settings of plugins that are not installed."""
    names = set(plugins)
    for name, value in layer.items():
        words = name.split(".", 2)
        if words[0] == "plugin" and len(words) == 3 and words[1] not in names:
            near = get_close_matches(words[1], sorted(names), n=1, cutoff=0.6)
            hint = f": did you mean {near[0]}?" if near else ""
            reason = f"no plugin {words[1]} is installed{hint}"
            yield ConfigError(name, reason, value.where)


def shown(plugin: "Plugin", settings: Settings) -> dict[str, str]:
    """Return the plugin's own settings by key, with secrets hidden."""
    texts = {}
    for key, setting in declared_settings(plugin.settings).items():
        value = getattr(settings.own, setting.field)
        text = setting.show(value)
        texts[key] = "(hidden)" if setting.sensitive and value is not None else text or ""
    return texts
