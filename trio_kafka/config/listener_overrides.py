"""Settings of one listener: its own value, or that of all listeners.

Its own value has the prefix `listener.name.<name>.`, and wins wherever either was set. Source:
KIP-103.
"""

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import BROKER_SETTINGS
from trio_kafka.config.values import Value


def override_name(listener: str, name: str) -> str:
    """Return the setting's name with the listener's prefix, which is in lower case."""
    return f"listener.name.{listener.lower()}.{name}"


def has_override(config: BrokerConfig, listener: str, name: str) -> bool:
    """Return whether the listener has a value of its own."""
    own = override_name(listener, name)
    return own in config.changed or own in config.texts


def mechanism_value_for(
    config: BrokerConfig, listener: str, mechanism: str, name: str
) -> tuple[str, Value]:
    """Return the effective value for one mechanism of a listener, and the setting that has it."""
    own = f"{mechanism.lower()}.{name}"
    if has_override(config, listener, own):
        setting = override_name(listener, own)
        text = config.changed.get(setting) or config.texts[setting].text
        return setting, BROKER_SETTINGS[name].parse(text)
    own_of_listener = has_override(config, listener, name)
    setting = override_name(listener, name) if own_of_listener else name
    return setting, value_for(config, listener, name)


def value_for(config: BrokerConfig, listener: str, name: str) -> Value:
    """Return the effective value for a listener. name: a setting of `BrokerConfig`."""
    setting, own = BROKER_SETTINGS[name], override_name(listener, name)
    if own in config.changed:
        return setting.parse(config.changed[own])
    if own in config.texts:
        return setting.parse(config.texts[own].text)
    value: Value = getattr(config, setting.field)
    return value
