"""Rows of DescribeConfigs: value, source and synonyms of each setting.

`dynamic` decides on sources and synonyms; a topic's `retention.ms` that comes from
`log.retention.hours` has no synonyms. Source: KIP-226; types are KIP-569.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.catalogue import every_setting, setting_of
from trio_kafka.config.client_metrics import CLIENT_METRICS_SETTINGS, is_client_metrics_setting
from trio_kafka.config.dynamic import (
    Layers,
    Source,
    Synonym,
    broker_synonyms,
    own_synonyms,
    topic_synonyms,
    update_of,
    value_of,
)
from trio_kafka.config.group import group_settings, group_values, is_group_setting
from trio_kafka.config.setting import Setting, Update
from trio_kafka.config.topic import TOPIC_SETTINGS, topic_config
from trio_kafka.config.values import Kind, Value

# Kafka describes these only where they are set: they belong to its authorizer, or are not settings
# of its properties file.
_ONLY_IF_SET: Final = frozenset(
    {
        "allow.everyone.if.no.acl.found",
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "super.users",
    }
)


@frozen(kw_only=True)
class Row:
    """Description of a setting; the value of a secret is None everywhere."""

    name: str
    value: str | None
    source: Source
    read_only: bool
    sensitive: bool
    kind: Kind
    synonyms: tuple[Synonym, ...]
    doc: str


def describe_topic(
    texts: Mapping[str, str], broker: Layers, names: Iterable[str] | None = None
) -> list[Row]:
    """Return rows of a topic: the named ones, or all but internal settings that are not set.

    texts: the settings of the topic itself. Raises ConfigError if one cannot be parsed.
    """
    broker, _ = broker.usable()
    config = topic_config(texts, broker.effective())
    return [
        _row(
            name,
            setting,
            getattr(config, setting.field),
            synonyms=topic_synonyms(name, texts, broker),
        )
        for name, setting in _chosen(TOPIC_SETTINGS, names, texts)
    ]


def describe_group(
    texts: Mapping[str, str], broker: Layers, names: Iterable[str] | None = None
) -> list[Row]:
    """Return rows of a group: the named ones, or all but internal settings that are not set.

    texts: the settings of the group itself; a value that cannot be parsed counts as not set.
    """
    broker, _ = broker.usable()
    values = group_values(texts, broker)
    own = {name: text for name, text in texts.items() if is_group_setting(name, text)}
    return [
        _row(
            name,
            setting,
            values[name],
            synonyms=own_synonyms(setting, own, broker, source=Source.GROUP),
        )
        for name, setting in _chosen(group_settings(), names, own)
    ]


def describe_client_metrics(
    texts: Mapping[str, str], broker: Layers, names: Iterable[str] | None = None
) -> list[Row]:
    """Return rows of a subscription to metrics of clients: the named ones, or all.

    texts: its settings; a value that cannot be parsed counts as not set.
    """
    own = {name: text for name, text in texts.items() if is_client_metrics_setting(name, text)}
    rows = []
    for name, setting in _chosen(CLIENT_METRICS_SETTINGS, names, own):
        synonyms = own_synonyms(setting, own, broker, source=Source.CLIENT_METRICS)
        value = setting.parse(own[name]) if name in own else setting.default
        rows.append(_row(name, setting, value, synonyms=synonyms))
    return rows


def describe_broker(broker: Layers, names: Iterable[str] | None = None) -> list[Row]:
    """Return rows of a broker: the named ones, or all but internal settings that are not set.

    Settings without an effect have rows too, with their own value or Kafka's default. A dynamic
    value that cannot be parsed counts as not set.
    """
    broker, _ = broker.usable()
    set_names = {*broker.config.texts, *broker.dynamic_default, *broker.dynamic}
    settings = {name: setting for name in set_names if (setting := setting_of(name)) is not None}
    return [
        _broker_row(name, setting, value_of(name, broker), synonyms=broker_synonyms(name, broker))
        for name, setting in _chosen({**every_setting(), **settings}, names, set_names)
        if name in set_names or name not in _ONLY_IF_SET
    ]


def broker_setting_names(broker: Layers) -> list[str]:
    """Return the names that `describe_broker` describes, for a caller that takes some at a time."""
    set_names = {*broker.config.texts, *broker.dynamic_default, *broker.dynamic}
    settings = {name: setting for name in set_names if (setting := setting_of(name)) is not None}
    return [
        name
        for name, _ in _chosen({**every_setting(), **settings}, None, set_names)
        if name in set_names or name not in _ONLY_IF_SET
    ]


def describe_broker_defaults(broker: Layers, names: Iterable[str] | None = None) -> list[Row]:
    """Return rows of the resource of all brokers: only its dynamic settings."""
    broker, _ = broker.usable()
    rows = []
    texts = broker.dynamic_default
    settings = {name: setting for name in texts if (setting := setting_of(name)) is not None}
    for name, setting in _chosen(settings, names, texts):
        synonyms = broker_synonyms(name, broker)
        common = tuple(s for s in synonyms if s.source is Source.DYNAMIC_DEFAULT_BROKER)
        rows.append(_broker_row(name, setting, setting.parse(texts[name]), synonyms=common))
    return rows


def _row(
    name: str,
    setting: Setting,
    value: Value,
    *,
    synonyms: tuple[Synonym, ...],
    read_only: bool = False,
) -> Row:
    return Row(
        name=name,
        value=setting.show(value),
        source=synonyms[0].source if synonyms else Source.DEFAULT,
        read_only=read_only,
        sensitive=setting.sensitive,
        kind=setting.kind,
        synonyms=synonyms,
        doc=setting.doc,
    )


def _broker_row(name: str, setting: Setting, value: Value, *, synonyms: tuple[Synonym, ...]) -> Row:
    return _row(
        name, setting, value, synonyms=synonyms, read_only=update_of(name) is Update.READ_ONLY
    )


def _chosen(
    settings: Mapping[str, Setting], names: Iterable[str] | None, set_names: Iterable[str]
) -> list[tuple[str, Setting]]:
    if names is not None:
        return [(name, settings[name]) for name in dict.fromkeys(names) if name in settings]
    shown = set(set_names)
    return [(name, s) for name, s in settings.items() if not s.internal or name in shown]
