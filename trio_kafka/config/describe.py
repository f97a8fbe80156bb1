"""The rows of DescribeConfigs: each setting's value, its source, and what stands behind it.

Source: KIP-226; types are KIP-569. The order of sources is: of the topic, of this broker while it
runs, of all brokers while they run, written down, default. Synonyms that stand before the setting's
own name are left out, so a topic's `retention.ms` that comes from `log.retention.hours` has none.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from attrs import frozen

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import BROKER_SETTINGS, default_of, overlaid
from trio_kafka.config.setting import Setting, Update
from trio_kafka.config.topic import TOPIC_SETTINGS, topic_config
from trio_kafka.config.values import Kind


class Source(IntEnum):
    """Where a value comes from, by its number on the wire."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


@frozen
class Synonym:
    """One place where the value might have come from."""

    name: str
    value: str | None
    source: Source


@frozen(kw_only=True)
class Row:
    """A setting as it is described; a secret's value is None everywhere."""

    name: str
    value: str | None
    source: Source
    read_only: bool
    sensitive: bool
    kind: Kind
    synonyms: tuple[Synonym, ...]
    doc: str


@frozen(kw_only=True)
class Layers:
    """A broker's settings and what lies over them while it runs: texts by name."""

    config: BrokerConfig
    dynamic: Mapping[str, str] = {}
    dynamic_default: Mapping[str, str] = {}

    def effective(self) -> BrokerConfig:
        """The configuration with what was set while the broker runs. Raises ConfigError."""
        changes = {**self.dynamic_default, **self.dynamic}
        return overlaid(self.config, changes) if changes else self.config


def describe_topic(
    given: Mapping[str, str], broker: Layers, names: Iterable[str] | None = None
) -> list[Row]:
    """Rows of a topic: those named, or all but the internal ones that were not given.

    given: the settings that the topic itself has. Raises ConfigError if one cannot be read.
    """
    config = topic_config(given, broker.effective())
    return [
        _topic_row(setting, given, getattr(config, setting.field), broker)
        for setting in _chosen(TOPIC_SETTINGS, names, given)
    ]


def describe_broker(broker: Layers, names: Iterable[str] | None = None) -> list[Row]:
    """Rows of a broker: those named, or all but the internal ones that were not written down."""
    config = broker.effective()
    rows = []
    for setting in _chosen(BROKER_SETTINGS, names, broker.config.given):
        synonyms = _broker_synonyms(setting, broker)
        rows.append(
            _row(
                setting,
                setting.show(getattr(config, setting.field)),
                synonyms,
                read_only=setting.update is Update.READ_ONLY,
            )
        )
    return rows


def describe_broker_defaults(broker: Layers, names: Iterable[str] | None = None) -> list[Row]:
    """Rows of the resource of all brokers: only what was set for them while they run."""
    return [
        _row(
            setting,
            None if setting.sensitive else text,
            (_synonym(setting, text, Source.DYNAMIC_DEFAULT_BROKER),),
            read_only=setting.update is Update.READ_ONLY,
        )
        for setting in _chosen(BROKER_SETTINGS, names, broker.dynamic_default)
        if (text := broker.dynamic_default.get(setting.name)) is not None
    ]


def _topic_row(setting: Setting, given: Mapping[str, str], value: object, broker: Layers) -> Row:
    synonyms: tuple[Synonym, ...] = ()
    if setting.server:
        synonyms = _broker_synonyms(BROKER_SETTINGS[setting.server[0][0]], broker)
    shown = setting.show(value)  # type: ignore[arg-type] # a field of TopicConfig is a Value
    if setting.name in given:
        synonyms = (Synonym(setting.name, shown, Source.TOPIC), *synonyms)
    return _row(setting, shown, synonyms, read_only=False)


def _row(
    setting: Setting, value: str | None, synonyms: tuple[Synonym, ...], *, read_only: bool
) -> Row:
    return Row(
        name=setting.name,
        value=value,
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        read_only=read_only,
        sensitive=setting.sensitive,
        kind=setting.kind,
        synonyms=synonyms,
        doc=setting.doc,
    )


def _broker_synonyms(setting: Setting, broker: Layers) -> tuple[Synonym, ...]:
    names = setting.synonyms or (setting.name,)
    static = {name: given.text for name, given in broker.config.given.items()}
    defaults = {
        name: text
        for name in names
        if (text := BROKER_SETTINGS[name].show(default_of(BROKER_SETTINGS[name], broker.config)))
        is not None
    }
    layers = zip(_SOURCES, (broker.dynamic, broker.dynamic_default, static, defaults), strict=True)
    found = [
        _synonym(BROKER_SETTINGS[name], layer[name], source)
        for source, layer in layers
        for name in names
        if name in layer
    ]
    own = next((i for i, synonym in enumerate(found) if synonym.name == setting.name), len(found))
    return tuple(found[own:])


_SOURCES: Final = (
    Source.DYNAMIC_BROKER,
    Source.DYNAMIC_DEFAULT_BROKER,
    Source.STATIC_BROKER,
    Source.DEFAULT,
)


def _synonym(setting: Setting, text: str, source: Source) -> Synonym:
    return Synonym(setting.name, None if setting.sensitive else text, source)


def _chosen(
    settings: Mapping[str, Setting], names: Iterable[str] | None, given: Iterable[str]
) -> list[Setting]:
    if names is not None:
        return [settings[name] for name in names if name in settings]
    shown = set(given)
    return [s for s in settings.values() if not s.internal or s.name in shown]
