"""Configuration from layers of texts; a later layer overrides an earlier one.

A layer maps names to `SettingText`; `toml`, `environment`, `properties` and `options` make layers.
The caller reads the files. Without `process.roles` a node is embedded: see `EMBEDDED`. All other
defaults are Kafka's.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import (
    BROKER_SETTINGS,
    has_prefix,
    is_of_plugin,
    is_of_provider,
    setting_of,
    unknown,
    why_without_effect,
)
from trio_kafka.config.listener_warnings import listener_warnings
from trio_kafka.config.properties import SettingText
from trio_kafka.config.rules import check, reject_unsupported
from trio_kafka.config.setting import ConfigError, Setting
from trio_kafka.config.sources.providers import Outside, resolve
from trio_kafka.config.values import Value

Layer = Mapping[str, SettingText]

EMBEDDED: Final[Mapping[str, Value]] = {
    "process.roles": ("broker", "controller"),
    "node.id": 1,
    "controller.listener.names": (),
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
}
# Shorter texts are no secrets, and would be found in any message.
_SECRET: Final = 4
# From fields by name, whose values are parsed by the kind of each setting.
_MAKE: Final[Callable[..., BrokerConfig]] = BrokerConfig
_EVOLVE: Final[Callable[..., BrokerConfig]] = attrs.evolve
_NAME: Final = re.compile(r"[\w.-]*")


@frozen
class Loaded:
    """Configuration, with one warning a line."""

    config: BrokerConfig
    warnings: tuple[str, ...]


def options(arguments: Iterable[str], where: str = "-c") -> dict[str, SettingText]:
    """Return the layer of `name=value` arguments. Raises ConfigError."""
    layer = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name.strip():
            # No more than a name is told: what follows may be a secret.
            match = _NAME.match(argument)
            raise ConfigError(match[0] if match else "", "is not NAME=VALUE", where)
        layer[name.strip()] = SettingText(text, where)
    return layer


def load(*layers: Layer, outside: Outside | None = None) -> Loaded:
    """Return the configuration of layers, lowest first. Raises ConfigError.

    outside: where `config.providers` look values up; None: they are rejected.
    """
    texts: dict[str, SettingText] = {}
    for layer in layers:
        texts |= layer
    try:
        texts = resolve(texts, outside)
        warnings = tuple(_warnings(texts))
        config = _build(texts)
        check(config)
        of_listeners = tuple(f"{where}: {text}" for where, text in listener_warnings(config))
    except ConfigError as error:
        raise locate_error(error, texts) from None
    return Loaded(config, (*warnings, *of_listeners))


def locate_error(error: ConfigError, texts: Layer) -> ConfigError:
    """Return the error with its place, and without any text that a provider looked up."""
    culprit = texts.get(error.name)
    where = error.where or (culprit.where if culprit else None)
    if culprit is not None and culprit.written is not None and culprit.written not in error.reason:
        reason = f"the value of {culprit.written} is not valid"
        return ConfigError(error.name, reason, where)
    for other in texts.values():
        if other.written is not None and len(other.text) >= _SECRET and other.text in error.reason:
            return ConfigError(error.name, f"contradicts the value of {other.written}", where)
    return ConfigError(error.name, error.reason, where)


def broker_config(settings: Mapping[str, str] | None = None) -> BrokerConfig:
    """Return the configuration of an embedding program, by Kafka's names. Raises ConfigError."""
    texts = {name: SettingText(text, "settings") for name, text in (settings or {}).items()}
    return load(texts).config


def overlaid(config: BrokerConfig, changes: Mapping[str, str]) -> BrokerConfig:
    """Return the configuration with dynamic settings over it.

    `texts` stays the static settings; names without an effect are ignored.
    Raises ConfigError.
    """
    values: dict[str, object] = {}
    values["changed"] = {name: text for name, text in changes.items() if has_prefix(name)}
    for name, text in changes.items():
        setting = setting_of(name)
        if setting is None:
            raise ConfigError(name, unknown(name))
        value = setting.parse(text)
        if name in BROKER_SETTINGS:
            values[setting.field] = value
    changed = _EVOLVE(config, **values)
    check(changed)
    return changed


def default_of(setting: Setting, config: BrokerConfig) -> Value:
    """Return the value of a broker setting that is not set."""
    if config.embedded and setting.name in EMBEDDED:
        return EMBEDDED[setting.name]
    return None if setting.required else setting.default


def _build(texts: Layer) -> BrokerConfig:
    values: dict[str, Value] = {}
    if "process.roles" not in texts:
        values |= {BROKER_SETTINGS[name].field: value for name, value in EMBEDDED.items()}
    for name, setting in BROKER_SETTINGS.items():
        if name in texts:
            values[setting.field] = setting.parse(texts[name].text)
    if "node.id" not in texts and "broker.id" in texts:
        values["node_id"] = values["broker_id"]
        BROKER_SETTINGS["node.id"].check_value(values["node_id"])
    for name, setting in BROKER_SETTINGS.items():
        if setting.required and setting.field not in values:
            raise ConfigError(name, "must be set, since process.roles is set")
    return _MAKE(texts=texts, **values)


def check_name(name: str, text: SettingText) -> str | None:
    """Return why a setting, or its value, has no effect; None if it has one.

    Values of settings without an effect are checked too. Raises ConfigError for an unknown name.
    """
    if is_of_plugin(name) or is_of_provider(name):
        return None
    reject_unsupported(name, text.text)
    setting = setting_of(name)
    reason = why_without_effect(name)
    if setting is None and reason is None:
        raise ConfigError(name, unknown(name), text.where)
    if setting is not None and name not in BROKER_SETTINGS:
        try:
            setting.parse(text.text)
        except ConfigError as error:
            raise ConfigError(name, error.reason, text.where) from None
    return reason


def _warnings(texts: Layer) -> Iterator[str]:
    for name, text in texts.items():
        if reason := check_name(name, text):
            yield f"{text.where}: {name} {reason}"
