"""A setting as one listener has it: its own, with the prefix `listener.name.<name>.`, or that of
all.

Source: KIP-103; a listener's own value goes over that of all wherever either was set.
"""

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import BROKER_SETTINGS
from trio_kafka.config.values import Value


def override_name(listener: str, name: str) -> str:
    """The setting's name with the listener's prefix, which is in lower case."""
    return f"listener.name.{listener.lower()}.{name}"


def has_override(config: BrokerConfig, listener: str, name: str) -> bool:
    """The listener has a value of its own."""
    own = override_name(listener, name)
    return own in config.changed or own in config.given


def value_for(config: BrokerConfig, listener: str, name: str) -> Value:
    """The value in force; `name` is a setting that `BrokerConfig` has."""
    setting, own = BROKER_SETTINGS[name], override_name(listener, name)
    if own in config.changed:
        return setting.parse(config.changed[own])
    if own in config.given:
        return setting.parse(config.given[own].text)
    found: Value = getattr(config, setting.field)
    return found
