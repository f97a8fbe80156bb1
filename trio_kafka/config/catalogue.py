"""Every broker setting by name: those that `BrokerConfig` has, and Kafka's others.

A name may have a listener's prefix, `listener.name.<name>.` or, for one SASL mechanism of it,
`listener.name.<name>.<mechanism>.`: it is then the setting behind the prefix, for that listener.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.known import known_settings
from trio_kafka.config.setting import Setting, settings_of

BROKER_SETTINGS: Final = settings_of(BrokerConfig)

_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.(.+)")
# What a mechanism's name may stand before, in a listener's settings.
_OF_MECHANISMS: Final = (
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
)


def every_setting() -> Mapping[str, Setting]:
    """All of them: in the order of their declaration, those first that have an effect."""
    return {**BROKER_SETTINGS, **known_settings()}


def setting_of(name: str) -> Setting | None:
    """The setting of a name, which may have a listener's prefix; None if there is none."""
    if name in BROKER_SETTINGS:
        return BROKER_SETTINGS[name]
    base = base_of(name)
    return known_settings().get(base) or BROKER_SETTINGS.get(base)


def base_of(name: str) -> str:
    """The name without a listener's prefix."""
    match = _LISTENER.fullmatch(name)
    if match is None:
        return name
    found = match[1]
    return next((base for base in _OF_MECHANISMS if found.endswith(f".{base}")), found)


def has_prefix(name: str) -> bool:
    """It is a setting of one listener."""
    return _LISTENER.fullmatch(name) is not None


def unknown(name: str) -> str:
    """What is said of a name that no setting has."""
    near = get_close_matches(name, every_setting(), n=1, cutoff=0.7)
    return "no such setting" + (f": did you mean {near[0]}?" if near else "")
