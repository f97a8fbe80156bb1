"""The settings that a group of consumers may have of its own, over those of the broker.

Most have a broker setting that gives their default, `group.` before the name, and some have bounds
there as well (`group.consumer.min.session.timeout.ms`). Nothing obeys those of share and streams
groups yet. Source: KIP-848, KIP-932, KIP-1071; Apache Kafka 4.4.0.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from attrs import frozen

from trio_kafka.config.catalogue import setting_of
from trio_kafka.config.dynamic import Layers, value_of
from trio_kafka.config.setting import (
    ConfigError,
    Setting,
    boolean,
    int32,
    int64,
    settings_of,
    string,
    texts,
)
from trio_kafka.config.values import Kind, Value
from trio_kafka.errors import ErrorCode, KafkaError

_RESET: Final = re.compile(r"latest|earliest|by_duration:P.+")
_KINDS: Final = ("consumer", "share", "streams")
_SESSION: Final = "session.timeout.ms"
_HEARTBEAT: Final = "heartbeat.interval.ms"


def _of(name: str) -> tuple[tuple[str, int], ...]:
    return ((f"group.{name}", 1),)


def _check_reset(text: str) -> None:
    if not _RESET.fullmatch(text):
        raise ValueError(f"{text!r} is none of latest, earliest, by_duration:PnDTnHnMn.nS")


@frozen(kw_only=True)
class GroupConfig:
    """One field a setting: `consumer.session.timeout.ms` is `consumer_session_timeout_ms`."""

    consumer_assignment_interval_ms: int = int32(
        1000,
        "Pause between two assignments of the group.",
        low=0,
        server=_of("consumer.assignment.interval.ms"),
    )
    consumer_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator.",
        internal=True,
        server=_of("consumer.assignor.offload.enable"),
    )
    consumer_heartbeat_interval_ms: int = int32(
        5000,
        "How often a member says that it lives.",
        low=1,
        server=_of("consumer.heartbeat.interval.ms"),
    )
    consumer_session_timeout_ms: int = int32(
        45000,
        "A member that is silent for so long is removed.",
        low=1,
        server=_of("consumer.session.timeout.ms"),
    )
    errors_deadletterqueue_copy_record_enable: bool = boolean(
        False, "Records that are put aside are copied whole."
    )
    errors_deadletterqueue_topic_name: str = string(
        "", "Where records go that nobody could process."
    )
    share_assignment_interval_ms: int = int32(
        1000,
        "Pause between two assignments of the share group.",
        low=0,
        server=_of("share.assignment.interval.ms"),
    )
    share_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator.",
        internal=True,
        server=_of("share.assignor.offload.enable"),
    )
    share_auto_offset_reset: str = string(
        "latest", "Where a share group begins to read.", check=_check_reset
    )
    share_delivery_count_limit: int = int32(
        5,
        "How often a record is tried.",
        low=2,
        server=_of("share.delivery.count.limit"),
    )
    share_heartbeat_interval_ms: int = int32(
        5000,
        "How often a member says that it lives.",
        low=1,
        server=_of("share.heartbeat.interval.ms"),
    )
    share_isolation_level: str = string(
        "read_uncommitted",
        "Whether records of transactions are read before they are committed.",
        choices=("read_committed", "read_uncommitted"),
    )
    share_partition_max_record_locks: int = int32(
        2000,
        "The most records of a partition that are locked at once.",
        low=100,
        server=_of("share.partition.max.record.locks"),
    )
    share_record_lock_duration_ms: int = int32(
        30000,
        "How long a record is locked for who works on it.",
        low=1000,
        server=_of("share.record.lock.duration.ms"),
    )
    share_renew_acknowledge_enable: bool = boolean(
        True, "Whoever works on a record may ask for more time."
    )
    share_session_timeout_ms: int = int32(
        45000,
        "A member that is silent for so long is removed.",
        low=1,
        server=_of("share.session.timeout.ms"),
    )
    streams_acceptable_recovery_lag: int = int64(
        10000,
        "How far behind a task may be that counts as caught up.",
        low=0,
        internal=True,
        server=_of("streams.acceptable.recovery.lag"),
    )
    streams_assignment_interval_ms: int = int32(
        1000,
        "Pause between two assignments of the streams group.",
        low=0,
        server=_of("streams.assignment.interval.ms"),
    )
    streams_assignor_name: str | None = string(
        None, "The assignor of the streams group.", server=_of("streams.assignors")
    )
    streams_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator.",
        internal=True,
        server=_of("streams.assignor.offload.enable"),
    )
    streams_heartbeat_interval_ms: int = int32(
        5000,
        "How often a member says that it lives.",
        low=1,
        server=_of("streams.heartbeat.interval.ms"),
    )
    streams_initial_rebalance_delay_ms: int = int32(
        3000,
        "How long a new streams group waits for more members.",
        low=0,
        server=_of("streams.initial.rebalance.delay.ms"),
    )
    streams_num_standby_replicas: int = int32(
        0, "Standby tasks of each task.", low=0, server=_of("streams.num.standby.replicas")
    )
    streams_num_warmup_replicas: int = int32(
        2,
        "Warm-up tasks at once.",
        low=0,
        internal=True,
        server=_of("streams.num.warmup.replicas"),
    )
    streams_rack_aware_assignment_tags: tuple[str, ...] = texts(
        (),
        "Tags by which standby tasks are spread.",
        server=_of("streams.rack.aware.assignment.tags"),
    )
    streams_session_timeout_ms: int = int32(
        45000,
        "A member that is silent for so long is removed.",
        low=1,
        server=_of("streams.session.timeout.ms"),
    )
    streams_task_offset_interval_ms: int = int32(
        60000,
        "How often members tell how far their tasks are.",
        low=1,
        internal=True,
        server=_of("streams.task.offset.interval.ms"),
    )


GROUP_SETTINGS: Final = settings_of(GroupConfig)


def group_values(given: Mapping[str, str], broker: Layers) -> dict[str, Value]:
    """What is in force for a group, by name: what was given to it, over the broker's settings.

    What cannot be read counts as not given. A number outside of the broker's bounds, which may be
    others by now, counts as the nearest that lies within.
    """
    return {name: _value(setting, given, broker) for name, setting in GROUP_SETTINGS.items()}


def default_group_list(name: str) -> str | None:
    """What APPEND and SUBTRACT begin with where nothing is set; None: it is no list."""
    setting = GROUP_SETTINGS.get(name)
    if setting is None or setting.kind is not Kind.LIST:
        return None
    return setting.show(setting.default) or ""


def is_group_setting(name: str, text: str) -> bool:
    """Whether that is one, and can be read."""
    try:
        GROUP_SETTINGS[name].parse(text)
    except (ConfigError, KeyError):
        return False
    return True


def _value(setting: Setting, given: Mapping[str, str], broker: Layers) -> Value:
    name = setting.name
    if name in given and is_group_setting(name, given[name]):
        value, (low, high) = setting.parse(given[name]), _bounds(name, broker)
        if low is not None:
            value = max(low, _number(value))
        if high is not None:
            value = min(high, _number(value))
        return value
    if not setting.server or isinstance(setting.default, str | None):
        found: Value = setting.default
        return found
    return value_of(setting.server[0][0], broker)


def validate_group_configs(configs: Mapping[str, str], broker: Layers) -> None:
    """Check the settings that a group is to have of its own.

    Raises KafkaError(INVALID_CONFIG), which names the setting.
    """
    try:
        for name, text in configs.items():
            if name not in GROUP_SETTINGS:
                raise ConfigError(name, "is no setting of groups")
            _check_bounds(name, GROUP_SETTINGS[name].parse(text), broker)
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
    found: list[int | None] = []
    for side in ("min", "max"):
        bound = _bound(name, side)
        found.append(None if setting_of(bound) is None else _number(value_of(bound, broker)))
    return found[0], found[1]


def _bound(name: str, side: str) -> str:
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("num.")  # `group.streams.max.standby.replicas`
    return f"group.{kind}.{side}.{rest}"


def _number(value: Any) -> int:
    return int(value)
