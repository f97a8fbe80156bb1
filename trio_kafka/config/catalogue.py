"""All broker settings by name: those of `BrokerConfig`, and Kafka's others.

A name may have a listener's prefix, `listener.name.<name>.` or, for one SASL mechanism,
`listener.name.<name>.<mechanism>.`. Then it is the setting after the prefix, for that listener.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.oauth import OF_LISTENERS
from trio_kafka.config.setting import Setting, settings_of
from trio_kafka.config.topic import TOPIC_SETTINGS
from trio_kafka.config.unsupported import (
    OF_KAFKAS_PLUGINS,
    UNSUPPORTED_FIELDS,
    Support,
    replacement_of,
    unsupported_settings,
    why_unsupported,
)

BROKER_SETTINGS: Final = settings_of(BrokerConfig)

_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(.+)")
# Settings that a listener may have of its own.
_BY_LISTENER: Final = frozenset(
    {
        *OF_LISTENERS,
        "connections.max.reauth.ms",
        "max.connection.creation.rate",
        "max.connections",
        "num.network.threads",
        "sasl.enabled.mechanisms",
        "sasl.jaas.config",
        "sasl.server.max.receive.size",
        *(name for name in BROKER_SETTINGS if name.startswith("ssl.")),
    }
)
# Settings that may have a mechanism's prefix within a listener's.
_OF_MECHANISMS: Final = (
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)
_LONGEST: Final = 200  # characters of a name that may be like a setting's, with a prefix


def every_setting() -> Mapping[str, Setting]:
    """Return all settings in the order of declaration, those with an effect first."""
    return {**BROKER_SETTINGS, **unsupported_settings()}


def setting_of(name: str) -> Setting | None:
    """Return the setting of a name, with or without a listener's prefix; None if there is none."""
    if name in BROKER_SETTINGS:
        return BROKER_SETTINGS[name]
    base = base_of(name)
    return unsupported_settings().get(base) or BROKER_SETTINGS.get(base)


def base_of(name: str) -> str:
    """Return the name without a listener's prefix."""
    match = _LISTENER.fullmatch(name)
    if match is None:
        return name
    rest = match[1]
    return next((base for base in _OF_MECHANISMS if rest.endswith(f".{base}")), rest)


def has_prefix(name: str) -> bool:
    """Return whether the name has a listener's prefix."""
    return _LISTENER.fullmatch(name) is not None


def is_name(name: str) -> bool:
    """Return whether the name is one of Kafka, trio-kafka, a plugin or a provider of secrets."""
    return (
        setting_of(name) is not None
        or is_of_plugin(name)
        or is_of_provider(name)
        or name.startswith(OF_KAFKAS_PLUGINS)
    )


def is_of_plugin(name: str) -> bool:
    """Return whether the name is `plugin.<plugin>.<key>`, which the plugin checks."""
    words = name.split(".", 2)
    return words[0] == "plugin" and len(words) == 3 and all(words)


def is_of_provider(name: str) -> bool:
    """Return whether the name is a parameter of a provider, which `providers` checks."""
    words = name.removeprefix("config.providers.").split(".", 2)
    if not name.startswith("config.providers.") or len(words) < 2 or not words[0]:
        return False
    return words[1:] == ["class"] or (words[1] == "param" and len(words) == 3 and bool(words[2]))


def why_without_effect(name: str) -> str | None:
    """Return why a setting has no effect; None if it has one, or if Kafka does not have it."""
    if name in BROKER_SETTINGS and name not in UNSUPPORTED_FIELDS:
        return None
    base = base_of(name)
    reason = why_unsupported(base)
    if reason is None and base not in _BY_LISTENER and setting_of(name) is not None:
        return f"{Support.NOT_YET.value}: listeners cannot have values of their own"
    return reason


def unknown(name: str) -> str:
    """Return the error message for an unknown name."""
    if name in TOPIC_SETTINGS:
        server = TOPIC_SETTINGS[name].server
        return "is a topic setting" + (f": use {server[0][0]} for a broker" if server else "")
    if instead := replacement_of(name):
        return f"Kafka 4 removed this setting: {instead}"
    near = _nearest(name)
    return "no such setting" + (f": did you mean {near}?" if near else "")


@lru_cache(maxsize=64)  # the search takes 8 ms, and the next attempt often has the same name
def _nearest(name: str) -> str | None:
    if len(name) > _LONGEST:
        return None
    near = get_close_matches(name, every_setting(), n=1, cutoff=0.7)
    return near[0] if near else None
