"""From what was written down to a `BrokerConfig`: layers of texts, the later one wins.

A layer is a mapping of names to `Given`: a properties file and the options of a command are two;
any other source makes a mapping of its own. Reading files is left to who calls.
Without `process.roles` a node is embedded: see `EMBEDDED`. Everything else has Kafka's defaults.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from attrs import frozen

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import BROKER_SETTINGS, base_of, setting_of, unknown
from trio_kafka.config.known import why_ignored
from trio_kafka.config.properties import Given
from trio_kafka.config.rules import check, refuse
from trio_kafka.config.setting import ConfigError, Setting
from trio_kafka.config.values import Value

Layer = Mapping[str, Given]

EMBEDDED: Final[Mapping[str, Value]] = {
    "process.roles": ("broker", "controller"),
    "node.id": 1,
    "controller.listener.names": (),
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
}


@frozen
class Loaded:
    """A configuration, and what its author should know about it: one line each."""

    config: BrokerConfig
    warnings: tuple[str, ...]


def options(arguments: Iterable[str], where: str = "-c") -> dict[str, Given]:
    """The layer of `name=value` arguments. Raises ConfigError."""
    found = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not equals or not name.strip():
            raise ConfigError(argument, "want name=value", where)
        found[name.strip()] = Given(text, where)
    return found


def load(*layers: Layer) -> Loaded:
    """The configuration of layers, each over those before it. Raises ConfigError."""
    given: dict[str, Given] = {}
    for layer in layers:
        given |= layer
    try:
        warnings = tuple(filter(None, [_check_name(name, given[name]) for name in given]))
        config = _build(given)
        check(config)
    except ConfigError as error:
        if error.where is None and error.name in given:
            raise ConfigError(error.name, error.reason, given[error.name].where) from None
        raise
    return Loaded(config, warnings)


def broker_config(settings: Mapping[str, str] | None = None) -> BrokerConfig:
    """The configuration of an embedding program: settings by Kafka's names. Raises ConfigError."""
    given = {name: Given(text, "settings") for name, text in (settings or {}).items()}
    return load(given).config


def overlaid(config: BrokerConfig, changes: Mapping[str, str]) -> BrokerConfig:
    """The configuration with other values, which were set while the broker runs.

    `given` stays what was written down; names without an effect are passed over.
    Raises ConfigError.
    """
    values: dict[str, Any] = {}
    for name, text in changes.items():
        setting = setting_of(name)
        if setting is None:
            raise ConfigError(name, unknown(name))
        value = setting.parse(text)
        if name in BROKER_SETTINGS:
            values[setting.field] = value
    changed = attrs.evolve(config, **values)
    check(changed)
    return changed


def default_of(setting: Setting, config: BrokerConfig) -> Value:
    """The value of a broker setting that is not given."""
    if config.embedded and setting.name in EMBEDDED:
        return EMBEDDED[setting.name]
    return None if setting.required else setting.default


def _build(given: Layer) -> BrokerConfig:
    values: dict[str, Any] = {}
    if "process.roles" not in given:
        values |= {BROKER_SETTINGS[name].field: value for name, value in EMBEDDED.items()}
    for name, setting in BROKER_SETTINGS.items():
        if name in given:
            values[setting.field] = setting.parse(given[name].text)
    if "node.id" not in given and "broker.id" in given:
        values["node_id"] = values["broker_id"]
        BROKER_SETTINGS["node.id"].check_value(values["node_id"])
    for name, setting in BROKER_SETTINGS.items():
        if setting.required and setting.field not in values:
            raise ConfigError(name, "must be set where process.roles is")
    return BrokerConfig(given=given, **values)


def _check_name(name: str, given: Given) -> str | None:
    """The warning for a setting without an effect; ConfigError for one that nobody knows."""
    if _is_of_plugin(name):
        return None
    refuse(name, given)
    setting = setting_of(name)
    reason = why_ignored(base_of(name))
    if setting is None and reason is None:
        raise ConfigError(name, unknown(name), given.where)
    if setting is not None and name not in BROKER_SETTINGS:
        try:
            setting.parse(given.text)
        except ConfigError as error:
            raise ConfigError(name, error.reason, given.where) from None
    if reason is None and name not in BROKER_SETTINGS:
        reason = "is not honoured yet: a setting is the same for all listeners"
    return f"{given.where}: {name} {reason}" if reason else None


def _is_of_plugin(name: str) -> bool:
    words = name.split(".", 2)
    return words[0] == "plugin" and len(words) == 3 and all(words)
