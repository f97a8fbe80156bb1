"""Settings of a single group, over those of the broker.

Most are a broker setting without its prefix `group.`, for one group. Declaration, default and some
bounds are those of the broker's setting (`group.consumer.min.session.timeout.ms`). Settings of
share and streams groups have no effect yet. Source: KIP-848, KIP-932, KIP-1071; Apache Kafka 4.4.0.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.config.catalogue import every_setting, setting_of
from trio_kafka.config.dynamic import Layers, value_of
from trio_kafka.config.setting import (
    ConfigError,
    Setting,
    Update,
    boolean,
    settings_of,
    string,
)
from trio_kafka.config.values import Value
from trio_kafka.errors import ErrorCode, KafkaError

_RESET: Final = re.compile(r"latest|earliest|by_duration:P.+")
_KINDS: Final = ("consumer", "share", "streams")
_SESSION: Final = "session.timeout.ms"
_HEARTBEAT: Final = "heartbeat.interval.ms"


def _check_reset(text: str) -> None:
    if not _RESET.fullmatch(text):
        raise ValueError(f"{text!r} is not one of latest, earliest, by_duration:PnDTnHnMn.nS")


@frozen(kw_only=True)
class GroupConfig:
    """Group settings without a broker setting of the same type: one field a setting."""

    errors_deadletterqueue_copy_record_enable: bool = boolean(
        False, "Records that are put aside are copied whole."
    )
    errors_deadletterqueue_topic_name: str = string(
        "", "Topic for records that could not be processed."
    )
    share_auto_offset_reset: str = string(
        "latest", "Position at which a share group begins to read.", check=_check_reset
    )
    share_isolation_level: str = string(
        "read_uncommitted",
        "Visibility of uncommitted records of transactions.",
        choices=("read_committed", "read_uncommitted"),
    )
    share_renew_acknowledge_enable: bool = boolean(
        True, "A consumer may ask for more time for a record."
    )
    streams_assignor_name: str | None = string(
        None,
        "The assignor of the streams group.",
        server=(("group.streams.assignors", 1),),
    )


# Settings that exist for the broker too, there with the prefix `group.`.
_OF_BROKER: Final = """
    consumer.assignment.interval.ms consumer.assignor.offload.enable
    consumer.heartbeat.interval.ms consumer.session.timeout.ms
    share.assignment.interval.ms share.assignor.offload.enable share.delivery.count.limit
    share.heartbeat.interval.ms share.partition.max.record.locks share.record.lock.duration.ms
    share.session.timeout.ms
    streams.acceptable.recovery.lag streams.assignment.interval.ms streams.assignor.offload.enable
    streams.heartbeat.interval.ms streams.initial.rebalance.delay.ms streams.num.standby.replicas
    streams.num.warmup.replicas streams.rack.aware.assignment.tags streams.session.timeout.ms
    streams.task.offset.interval.ms
"""


@cache
def group_settings() -> Mapping[str, Setting]:
    """Return all group settings, sorted by name.

    Made on first use: those of share and streams groups come from tables that a start does without.
    """
    broker = every_setting()
    of_broker = {name: _of_broker(name, broker[f"group.{name}"]) for name in _OF_BROKER.split()}
    return dict(sorted({**settings_of(GroupConfig), **of_broker}.items()))


def _of_broker(name: str, broker: Setting) -> Setting:
    # A group's number has no upper bound of its own: the broker's `max` is one, and may change.
    server = ((broker.name, 1),)
    return evolve(broker, name=name, server=server, update=Update.READ_ONLY, high=None)


def group_values(texts: Mapping[str, str], broker: Layers) -> dict[str, Value]:
    """Return the effective settings of a group: its own, over the broker's.

    A value that cannot be parsed counts as not set. A number outside the broker's bounds, which
    may have changed, counts as the nearest number within them.
    """
    return {name: _value(setting, texts, broker) for name, setting in group_settings().items()}


def is_group_setting(name: str, text: str) -> bool:
    """Return whether the name is a group setting, and the text a value of it."""
    try:
        group_settings()[name].parse(text)
    except (ConfigError, KeyError):
        return False
    return True


def _value(setting: Setting, texts: Mapping[str, str], broker: Layers) -> Value:
    name = setting.name
    if name in texts and is_group_setting(name, texts[name]):
        value, (low, high) = setting.parse(texts[name]), _bounds(name, broker)
        if low is not None:
            value = max(low, _number(value))
        if high is not None:
            value = min(high, _number(value))
        return value
    if not setting.server or isinstance(setting.default, str | None):
        default: Value = setting.default
        return default
    return value_of(setting.server[0][0], broker)


def validate_group_configs(configs: Mapping[str, str], broker: Layers) -> None:
    """Check the settings of a group.

    Raises KafkaError(INVALID_CONFIG), which names the setting.
    """
    try:
        for name, text in configs.items():
            if name not in group_settings():
                raise ConfigError(name, "is not a group setting")
            _check_bounds(name, group_settings()[name].parse(text), broker)
        values = group_values(configs, broker)
        for kind in _KINDS:
            session, heartbeat = f"{kind}.{_SESSION}", f"{kind}.{_HEARTBEAT}"
            if _number(values[session]) <= _number(values[heartbeat]):
                raise ConfigError(session, f"must be greater than {heartbeat}")
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _check_bounds(name: str, value: Value, broker: Layers) -> None:
    low, high = _bounds(name, broker)
    if low is not None and _number(value) < low:
        raise ConfigError(name, f"must be greater than or equal to {_bound(name, 'min')}: {low}")
    if high is not None and _number(value) > high:
        raise ConfigError(name, f"must be less than or equal to {_bound(name, 'max')}: {high}")


def _bounds(name: str, broker: Layers) -> tuple[int | None, int | None]:
    bounds: list[int | None] = []
    for side in ("min", "max"):
        bound = _bound(name, side)
        bounds.append(None if setting_of(bound) is None else _number(value_of(bound, broker)))
    return bounds[0], bounds[1]


def _bound(name: str, side: str) -> str:
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("num.")  # `group.streams.max.standby.replicas`
    return f"group.{kind}.{side}.{rest}"


def _number(value: Value) -> int:
    return int(str(value))
