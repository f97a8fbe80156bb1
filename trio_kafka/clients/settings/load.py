"""Settings of a client from a mapping by Kafka's names."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from trio_kafka.clients.settings.admin import AdminSettings
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.clients.settings.consumer import ConsumerSettings, check_consumer
from trio_kafka.clients.settings.producer import ProducerSettings, check_producer
from trio_kafka.clients.settings.security import check_security
from trio_kafka.clients.settings.without_effect import WITHOUT_EFFECT
from trio_kafka.config.setting import ConfigError, Setting, declared_settings
from trio_kafka.config.values import Value, show

S = TypeVar("S", bound=ClientSettings)
T = TypeVar("T")
_KINDS: Final[Mapping[type[ClientSettings], str]] = {
    ProducerSettings: "producers",
    ConsumerSettings: "consumers",
    AdminSettings: "admin clients",
}


class SettingWarning(UserWarning):
    """A setting of Kafka's clients that has no effect here."""


def producer_settings(config: Mapping[str, object]) -> ProducerSettings:
    """Return the settings of a producer. Raises ConfigError. See `load_settings`."""
    settings = load_settings(ProducerSettings, config)
    check_producer(settings)
    return settings


def consumer_settings(config: Mapping[str, object]) -> ConsumerSettings:
    """Return the settings of a consumer. Raises ConfigError. See `load_settings`."""
    settings = load_settings(ConsumerSettings, config)
    check_consumer(settings)
    return settings


def admin_settings(config: Mapping[str, object]) -> AdminSettings:
    """Return the settings of an admin client. Raises ConfigError. See `load_settings`."""
    return load_settings(AdminSettings, config)


def load_settings(cls: type[S], config: Mapping[str, object]) -> S:
    """Return settings from values by Kafka's names, as texts or as Python's bool, int, list.

    Warns with SettingWarning of a name without effect. Raises ConfigError for an unknown name, with
    a suggestion, and for a value out of bounds.
    """
    table = declared_settings(cls)
    values: dict[str, Value] = {}
    for name, value in config.items():
        setting = table.get(name)
        if setting is not None:
            values[setting.field] = _value(setting, value)
        elif reason := WITHOUT_EFFECT.get(name):
            warnings.warn(f"{name} has no effect: {reason}", SettingWarning, stacklevel=4)
        else:
            raise ConfigError(name, _unknown(cls, name))
    for name, setting in table.items():
        if setting.required and setting.field not in values:
            raise ConfigError(name, f"is required: {setting.doc}")
    make: Callable[..., S] = cls
    settings = make(written=frozenset(config), **values)
    check_security(settings)
    return settings


def select_settings(cls: type[ClientSettings], config: Mapping[str, T]) -> dict[str, T]:
    """Return the settings of a mapping for all kinds of clients that one kind has.

    Raises ConfigError for a name that no kind has, with a suggestion.
    """
    selected = {}
    for name, value in config.items():
        if name in declared_settings(cls) or name in WITHOUT_EFFECT:
            selected[name] = value
        else:
            check_name(name)
    return selected


def check_name(name: str, others: Iterable[str] = (), where: str | None = None) -> None:
    """Raise ConfigError for a setting that no kind of client has, with a suggestion.

    others: names that are allowed as well. where: file and line.
    """
    names = dict.fromkeys([*others, *WITHOUT_EFFECT])
    for kind in _KINDS:
        names |= dict.fromkeys(declared_settings(kind))
    if name not in names:
        raise ConfigError(name, f"no such setting{_near(name, names)}", where)


def _value(setting: Setting, value: object) -> Value:
    if value is None:
        if setting.default is None:
            return None
        raise ConfigError(setting.name, "None: want a value, or leave the setting out")
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    if not isinstance(value, str):
        if not isinstance(value, bool | int | float):
            raise ConfigError(setting.name, f"a {type(value).__name__}: want a text or a number")
        value = show(setting.kind, value) or ""
    return setting.parse(value)


def _unknown(cls: type[ClientSettings], name: str) -> str:
    for other, clients in _KINDS.items():
        if name in declared_settings(other):
            return f"is a setting of {clients}: leave it out"
    names = [*declared_settings(cls), *WITHOUT_EFFECT]
    return f"no such setting{_near(name, names)}"


def _near(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1, cutoff=0.7)
    return f": did you mean {near[0]}?" if near else ""
