"""Explanations of settings, for `config explain` and docs/reference/configuration.md."""

from collections.abc import Iterator
from typing import Final

from trio_kafka.config.catalogue import base_of, has_prefix, setting_of, why_without_effect
from trio_kafka.config.dynamic import Layers, update_of, value_of
from trio_kafka.config.properties import SettingText
from trio_kafka.config.setting import Setting, Update
from trio_kafka.config.topic import TOPIC_SETTINGS, topic_defaults
from trio_kafka.config.unsupported import (
    UNSUPPORTED_TOPIC_SETTINGS,
    Support,
    deprecated_settings,
)
from trio_kafka.config.values import Kind

SUPPORTED: Final = "is supported"
HIDDEN: Final = "(hidden)"
UNSET: Final = "(not set)"
QUOTES: Final = '""'
_CHANGE: Final = {
    Update.READ_ONLY: "when the broker starts",
    Update.PER_BROKER: "while the broker runs, for one broker",
    Update.CLUSTER_WIDE: "while the broker runs, for one broker or all",
}
Lines = Iterator[tuple[str, str]]
"""Labels and texts."""


def explain_broker(name: str, layers: Layers) -> Lines:
    """Explain a broker setting and its value. name: with or without a listener's prefix."""
    setting = setting_of(name)
    if setting is None:
        raise KeyError(name)
    update = update_of(name)
    yield from _facts(setting)
    yield "value", shown_value(name, layers)
    yield "source", source_of(name, layers)
    yield "changed", _CHANGE[update or Update.READ_ONLY]
    yield "support", support_of(name)
    if setting.synonyms:
        yield "or", f"the first of {', '.join(setting.synonyms)} that is given"
    topics = topics_of(setting.name)
    if topics and not has_prefix(name):
        yield "topics", f"gives the default of a topic's {', '.join(topics)}"


def explain_topic(name: str, layers: Layers) -> Lines:
    """Explain a topic setting, and the value of a topic that does not set it."""
    setting = TOPIC_SETTINGS[name]
    yield from _facts(setting)
    value = setting.show(getattr(topic_defaults(layers.config), setting.field))
    yield "value", UNSET if value is None else value or QUOTES
    yield "source", "the value of a topic that does not set it"
    yield "changed", "while the broker runs, for one topic"
    if setting.server:
        names = ", ".join(broker_name for broker_name, _ in setting.server)
        yield "broker", f"its default is that of {names}"
    yield "support", topic_support(name)


def explain_of_plugin(setting: Setting, text: SettingText | None) -> Lines:
    """Explain a plugin's setting and its value."""
    yield from _facts(setting)
    if text is None:
        value = setting.show(setting.default)
        shown, source = UNSET if setting.default is None else value, "the default"
    else:
        shown, source = text.written or text.text, f"from {text.where}"
    hidden = setting.sensitive and shown != UNSET and (text is None or text.written is None)
    yield "value", HIDDEN if hidden else shown or QUOTES
    yield "source", source
    yield "changed", "when the plugin starts, or is reloaded"


def shown_value(name: str, layers: Layers) -> str:
    """Return the effective value, as it may be shown."""
    setting = setting_of(name)
    text = layers.config.texts.get(name)
    if text is not None and text.written is not None:
        return text.written
    value = value_of(name, layers)
    if setting is None or value is None:
        return UNSET
    return HIDDEN if setting.sensitive else setting.show(value) or '""'


def source_of(name: str, layers: Layers) -> str:
    """Return the source of the value, in words."""
    text = layers.config.texts.get(name)
    return "the default" if text is None else f"from {text.where}"


def bounds_of(setting: Setting) -> str:
    """Return the allowed values beyond the type; empty: any."""
    if setting.choices:
        text = f"{'any of' if setting.kind is Kind.LIST else 'one of'} "
        return text + ", ".join(setting.choices) + (" in any case" if setting.any_case else "")
    if setting.low is not None:
        return setting.bounds
    return "not empty" if setting.not_empty else ""


def default_of_kafka(setting: Setting) -> str:
    """Return Kafka's default as it may be shown, or ours for a setting of ours."""
    if setting.required:
        return "none: must be set where process.roles is"
    if setting.default is None:
        return UNSET
    return HIDDEN if setting.sensitive else setting.show(setting.default) or '""'


def support_of(name: str) -> str:
    """Return how far a setting is supported, and whether Kafka deprecates it."""
    text = why_without_effect(name) or SUPPORTED
    instead = deprecated_settings().get(base_of(name))
    return f"{text}; deprecated: {instead}" if instead else text


def topic_support(name: str) -> str:
    """Return how far a topic setting is supported."""
    why = UNSUPPORTED_TOPIC_SETTINGS.get(name)
    return f"{Support.NOT_YET.value}: {why}" if why else SUPPORTED


def topics_of(name: str) -> list[str]:
    """Return the topic settings whose default is this broker setting."""
    return [
        topic.name
        for topic in TOPIC_SETTINGS.values()
        if name in (broker_name for broker_name, _ in topic.server)
    ]


def _facts(setting: Setting) -> Lines:
    yield "what", setting.doc
    unit = f", in {setting.unit}" if setting.unit else ""
    yield "type", f"{setting.kind.name.lower()}{unit}"
    yield "default", default_of_kafka(setting)
    if bounds := bounds_of(setting):
        yield "bounds", bounds
