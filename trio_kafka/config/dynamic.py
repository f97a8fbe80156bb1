"""Dynamic settings: which may change, which values are allowed, which value is effective.

Pure functions of texts. A value comes from the first source that has it: the topic, this broker at
run time, all brokers at run time, the static settings, the default. With synonyms
(`log.retention.ms`, `.minutes`, `.hours`) the source counts before the name. Source: KIP-226,
KIP-569; Kafka's rules of a change are in `change_rules`.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import (
    BROKER_SETTINGS,
    base_of,
    has_prefix,
    is_of_plugin,
    is_of_provider,
    setting_of,
    unknown,
)
from trio_kafka.config.load import default_of, overlaid
from trio_kafka.config.rules import reject_unsupported
from trio_kafka.config.setting import ConfigError, Setting, Update
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.values import Value

# Every broker may have its own number of these, though a listener's settings are a broker's own.
_CLUSTER_LEVEL: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
# Pools whose members cost memory or descriptors at once. Kafka has no bounds here: a client that
# doubles a pool again and again ends a Kafka broker.
MOST_AT_RUN_TIME: Final[Mapping[str, int]] = {
    "background.threads": 1024,
    "num.io.threads": 1024,
    "num.network.threads": 64,
    "num.recovery.threads.per.data.dir": 1024,
}
_AT_START: Final = "is read when the broker starts: change it in the broker's file, and restart"


class Source(IntEnum):
    """Source of a value, by its number on the wire."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


@frozen(kw_only=True)
class Synonym:
    """One possible source of a value."""

    name: str
    value: str | None
    source: Source


@frozen(kw_only=True)
class Layers:
    """Static settings of a broker, and the dynamic ones over them: texts by name."""

    config: BrokerConfig
    dynamic: Mapping[str, str] = {}
    dynamic_default: Mapping[str, str] = {}

    def effective(self) -> BrokerConfig:
        """Return the configuration with the dynamic settings. Raises ConfigError."""
        changes = {**self.dynamic_default, **self.dynamic}
        return overlaid(self.config, changes) if changes else self.config

    def usable(self) -> tuple["Layers", tuple[ConfigError, ...]]:
        """Return the layers without the values that `check_dynamic` rejects, and the errors.

        A metadata log may have values that another release or a Java plugin accepted.
        """
        own, rejected_own = _readable(self.dynamic, per_broker=True)
        common, rejected = _readable(self.dynamic_default, per_broker=False)
        layers = Layers(config=self.config, dynamic=own, dynamic_default=common)
        return layers, (*rejected_own, *rejected)


def update_of(name: str) -> Update | None:
    """Return where a broker setting may change at run time; None for an unknown name.

    With a listener's prefix a setting is the broker's own, if it may change at all.
    """
    setting = setting_of(name)
    if setting is None or not has_prefix(name) or setting.update is Update.READ_ONLY:
        return None if setting is None else setting.update
    return Update.CLUSTER_WIDE if base_of(name) in _CLUSTER_LEVEL else Update.PER_BROKER


def check_dynamic(name: str, text: str, *, per_broker: bool) -> None:
    """Check one setting that a client sets, or that an earlier release stored.

    per_broker: the change is for one broker, not for all.
    Raises ConfigError, which never shows a secret.
    """
    setting, update = setting_of(name), update_of(name)
    if update is Update.READ_ONLY or _is_never_dynamic(name):
        raise ConfigError(name, _AT_START)
    if setting is None:
        raise ConfigError(name, unknown(name))
    if name.startswith("ssl."):
        reason = f"can only be set for one listener: use listener.name.<listener>.{name}"
        raise ConfigError(name, reason)
    if not per_broker and update is Update.PER_BROKER:
        raise ConfigError(name, "can only be set for one broker: name the broker's id")
    reject_unsupported(name, text)
    try:
        value = setting.parse(text)
    except ConfigError as error:
        raise ConfigError(name, error.reason) from None
    most = MOST_AT_RUN_TIME.get(base_of(name))
    if most is not None and isinstance(value, int) and value > most:
        raise ConfigError(name, f"{value} is too large while the broker runs: want at most {most}")


def _is_never_dynamic(name: str) -> bool:
    """Return whether only an operator may set this, although Kafka allows clients to.

    Providers read this machine's files and environment. A plugin's settings may name anything.
    """
    return base_of(name) == "config.providers" or is_of_provider(name) or is_of_plugin(name)


def value_of(name: str, layers: Layers) -> Value:
    """Return the effective value of a broker setting, with the embedded defaults of a node.

    Raises ConfigError for an unknown name, and for a value that cannot be parsed.
    """
    setting = setting_of(name)
    if setting is None:
        raise ConfigError(name, unknown(name))
    for texts in (layers.dynamic, layers.dynamic_default):
        if name in texts:
            return setting.parse(texts[name])
    if setting.name == name and name in BROKER_SETTINGS:
        value: Value = getattr(layers.config, setting.field)
        return value
    if name in layers.config.texts:
        return setting.parse(layers.config.texts[name].text)
    return None if has_prefix(name) else default_of(setting, layers.config)


def broker_synonyms(name: str, layers: Layers) -> tuple[Synonym, ...]:
    """Return the possible sources of a broker setting's value, the effective one first.

    Secrets are hidden. Synonyms before the setting's own name are left out, as in Kafka: a static
    `log.retention.hours` says nothing about `log.retention.ms`.
    """
    own = setting_of(name)
    synonyms = list(_synonyms(name, own, layers)) if own is not None else []
    first = next((at for at, synonym in enumerate(synonyms) if synonym.name == name), len(synonyms))
    return tuple(synonyms[first:])


def topic_synonyms(name: str, texts: Mapping[str, str], layers: Layers) -> tuple[Synonym, ...]:
    """Return the possible sources of a topic setting's value, the effective one first.

    texts: the settings of the topic itself. After the topic's own value comes the broker setting
    that Kafka names first: for `retention.ms` that is `log.retention.ms`, with its synonyms where
    it is set itself.
    """
    return own_synonyms(TOPIC_SETTINGS[name], texts, layers, source=Source.TOPIC)


def own_synonyms(
    setting: Setting, texts: Mapping[str, str], layers: Layers, *, source: Source
) -> tuple[Synonym, ...]:
    """Return the possible sources of a setting of another resource. source: its own source."""
    below = broker_synonyms(setting.server[0][0], layers) if setting.server else ()
    if setting.name not in texts:
        return below
    shown = setting.show(setting.parse(texts[setting.name]))
    return (Synonym(name=setting.name, value=shown, source=source), *below)


def _synonyms(name: str, own: Setting, layers: Layers) -> Iterator[Synonym]:
    """Yield every source in order, and every name in order within each source."""
    names = own.synonyms or _names_of(name)
    settings = {
        synonym: setting for synonym in names if (setting := setting_of(synonym)) is not None
    }
    static = {
        synonym: layers.config.texts[synonym].text
        for synonym in names
        if synonym in layers.config.texts
    }
    sources = (
        (Source.DYNAMIC_BROKER, layers.dynamic),
        (Source.DYNAMIC_DEFAULT_BROKER, layers.dynamic_default),
        (Source.STATIC_BROKER, static),
        (Source.DEFAULT, _defaults(settings, layers.config)),
    )
    for source, texts in sources:
        for synonym, setting in settings.items():
            if synonym in texts:
                text = None if setting.sensitive else texts[synonym]
                yield Synonym(name=synonym, value=text, source=source)


def _names_of(name: str) -> tuple[str, ...]:
    return (name, base_of(name)) if has_prefix(name) else (name,)


def _defaults(settings: Mapping[str, Setting], config: BrokerConfig) -> dict[str, str]:
    texts = {}
    for name, setting in settings.items():
        text = None if has_prefix(name) else setting.text_of(default_of(setting, config))
        if text is not None:
            texts[name] = text
    return texts


def _readable(
    texts: Mapping[str, str], *, per_broker: bool
) -> tuple[Mapping[str, str], list[ConfigError]]:
    readable, rejected = {}, []
    for name, text in texts.items():
        try:
            check_dynamic(name, text, per_broker=per_broker)
        except ConfigError as error:
            rejected.append(error)
        else:
            readable[name] = text
    return readable, rejected
