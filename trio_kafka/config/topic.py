"""Settings of a topic: its own, or the default that a broker setting gives.

Most are declared like the broker setting, whose type, bounds and description they take over.
Source: Apache Kafka 4.4.0, also for the broker settings that give a default, their order, and their
factor (hours to milliseconds).
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, Unpack

from trio_kafka.attributes import frozen
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.setting import (
    ConfigError,
    DifferingFacts,
    Setting,
    boolean,
    derived_from,
    int32,
    settings_of,
    string_list,
)
from trio_kafka.config.values import MAX_LONG, Value
from trio_kafka.errors import ErrorCode, KafkaError

_BROKER: Final = settings_of(BrokerConfig)
_MINUTES: Final = 60_000
_HOURS: Final = 60 * _MINUTES
_DAYS: Final = 24 * _HOURS
_REPLICA: Final = re.compile(r"[0-9]+:[0-9]+")


def _check_replicas(items: tuple[str, ...]) -> None:
    if items == ("*",):
        return
    for item in items:
        if not _REPLICA.fullmatch(item):
            raise ValueError(f"{item!r} is not PARTITION:BROKER, and the list is not '*'")


def _of_broker(*server_names: str | tuple[str, int], **differing: Unpack[DifferingFacts]) -> Any:
    """Declare a topic setting like the broker setting that is named first.

    server_names: broker settings that give the default, each with its factor where that is not 1;
        the first one that is set counts. differing: attributes that differ.
    """
    server = tuple((name, 1) if isinstance(name, str) else name for name in server_names)
    differing["server"] = server
    return derived_from(_BROKER[server[0][0]], **differing)


@frozen(kw_only=True)
class TopicConfig:
    """Effective settings of one topic."""

    cleanup_policy: tuple[str, ...] = _of_broker(
        "log.cleanup.policy", doc="Treatment of old records; empty: they stay."
    )
    compression_gzip_level: int = _of_broker("compression.gzip.level")
    compression_lz4_level: int = _of_broker("compression.lz4.level")
    compression_type: str = _of_broker("compression.type")
    compression_zstd_level: int = _of_broker("compression.zstd.level")
    delete_retention_ms: int = _of_broker("log.cleaner.delete.retention.ms")
    errors_deadletterqueue_group_enable: bool = boolean(
        False, "This topic takes records that share groups could not deliver."
    )
    file_delete_delay_ms: int = _of_broker("log.segment.delete.delay.ms")
    flush_messages: int = _of_broker("log.flush.interval.messages")
    flush_ms: int = _of_broker(
        "log.flush.interval.ms", "log.flush.scheduler.interval.ms", default=MAX_LONG, low=0
    )
    follower_replication_throttled_replicas: tuple[str, ...] = string_list(
        (), "Followers that are throttled: PARTITION:BROKER, or *.", check=_check_replicas
    )
    index_interval_bytes: int = _of_broker("log.index.interval.bytes")
    internal_segment_bytes: int | None = int32(
        None, "Size of a segment, without a lower bound: for tests.", internal=True
    )
    leader_replication_throttled_replicas: tuple[str, ...] = string_list(
        (), "Leaders that are throttled: PARTITION:BROKER, or *.", check=_check_replicas
    )
    local_retention_bytes: int = _of_broker(
        "log.local.retention.bytes",
        doc="Largest local size of a partition of a tiered topic; -2: retention.bytes.",
    )
    local_retention_ms: int = _of_broker(
        "log.local.retention.ms", doc="Local retention time of a tiered topic; -2: retention.ms."
    )
    max_compaction_lag_ms: int = _of_broker("log.cleaner.max.compaction.lag.ms")
    max_decompressed_message_bytes: int = _of_broker("max.decompressed.message.bytes")
    max_message_bytes: int = _of_broker("message.max.bytes")
    message_timestamp_after_max_ms: int = _of_broker("log.message.timestamp.after.max.ms")
    message_timestamp_before_max_ms: int = _of_broker("log.message.timestamp.before.max.ms")
    message_timestamp_type: str = _of_broker("log.message.timestamp.type")
    min_cleanable_dirty_ratio: float = _of_broker("log.cleaner.min.cleanable.ratio")
    min_compaction_lag_ms: int = _of_broker("log.cleaner.min.compaction.lag.ms")
    min_insync_replicas: int = _of_broker("min.insync.replicas")
    preallocate: bool = _of_broker("log.preallocate")
    remote_copy_lag_bytes: int = _of_broker("log.remote.copy.lag.bytes")
    remote_copy_lag_ms: int = _of_broker("log.remote.copy.lag.ms")
    remote_log_copy_disable: bool = boolean(False, "A tiered topic is no longer copied.")
    remote_log_delete_on_disable: bool = boolean(
        False, "Remote data goes when tiering of the topic ends."
    )
    remote_storage_enable: bool = boolean(False, "The topic is tiered.")
    retention_bytes: int = _of_broker("log.retention.bytes")
    retention_ms: int = _of_broker(
        "log.retention.ms",
        ("log.retention.minutes", _MINUTES),
        ("log.retention.hours", _HOURS),
        default=7 * _DAYS,
        low=-1,
    )
    segment_bytes: int = _of_broker("log.segment.bytes")
    segment_index_bytes: int = _of_broker("log.index.size.max.bytes")
    segment_jitter_ms: int = _of_broker(
        "log.roll.jitter.ms", ("log.roll.jitter.hours", _HOURS), default=0, low=0
    )
    segment_ms: int = _of_broker(
        "log.roll.ms", ("log.roll.hours", _HOURS), default=7 * _DAYS, low=1
    )
    unclean_leader_election_enable: bool = _of_broker("unclean.leader.election.enable")


TOPIC_SETTINGS: Final = settings_of(TopicConfig)
_MAKE: Final[Callable[..., TopicConfig]] = TopicConfig  # from fields by name


def topic_defaults(broker: BrokerConfig) -> TopicConfig:
    """Return the settings of a topic that has none of its own."""
    return _MAKE(**_defaults(broker))


def check_topic_defaults(broker: BrokerConfig) -> None:
    """Check the defaults of topics. Raises ConfigError with the name of the broker setting."""
    for setting in TOPIC_SETTINGS.values():
        name, value = _first_set(setting, broker)
        try:
            setting.check_value(value)
        except ConfigError as error:
            raise ConfigError(name, error.reason) from None
        if setting.name == "retention.ms" and value == 0:
            raise ConfigError(name, "0 would keep nothing: want -1, or at least 1")
    try:
        _check_together(topic_defaults(broker))
    except ConfigError as error:
        raise ConfigError(f"log.cleaner.{error.name}", error.reason) from None


def topic_config(texts: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """Return the settings of a topic: its own over the broker's. Raises ConfigError."""
    return _topic_config(tuple(texts.items()), broker)


@lru_cache(maxsize=64)  # most topics of a cluster have one of few kinds of settings
def _topic_config(texts: tuple[tuple[str, str], ...], broker: BrokerConfig) -> TopicConfig:
    fields = dict(_defaults(broker))
    for name, text in texts:
        setting = TOPIC_SETTINGS.get(name)
        if setting is None:
            raise ConfigError(name, f"is not a topic setting{_hint(name)}")
        fields[setting.field] = setting.parse(text)
    config = _MAKE(**fields)
    _check_together(config)
    return config


def _hint(name: str) -> str:
    """Return a hint at the topic setting of a broker's name, else of the nearest name."""
    for topic, setting in TOPIC_SETTINGS.items():
        if name in (server for server, _ in setting.server):
            return f": did you mean {topic}?"
    near = get_close_matches(name, TOPIC_SETTINGS, n=1)
    return f": did you mean {near[0]}?" if near else ""


def validate_topic_configs(configs: Mapping[str, str | None], broker: BrokerConfig) -> TopicConfig:
    """Check the settings of a topic that is to be created or altered.

    configs: all settings of the topic itself, by name; Kafka rejects null values here. Raises
    KafkaError(INVALID_CONFIG), which names the setting.
    """
    texts: dict[str, str] = {}
    unset: list[str] = []
    for name, text in configs.items():
        if text is None:
            unset.append(name)
        else:
            texts[name] = text
    if unset:
        names = ", ".join(sorted(unset))
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{names}: the value is null: give a text")
    try:
        return topic_config(texts, broker)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


@lru_cache(maxsize=4)  # a broker changes its own settings rarely
def _defaults(broker: BrokerConfig) -> Mapping[str, object]:
    """Return the value of each field of a topic without settings of its own."""
    return {s.field: _first_set(s, broker)[1] for s in TOPIC_SETTINGS.values()}


def _first_set(setting: Setting, broker: BrokerConfig) -> tuple[str, Value]:
    """Return the default of a topic setting, and the name of the setting that gives it."""
    for name, factor in setting.server:
        value = getattr(broker, name.replace(".", "_"))
        if value is None:
            continue
        value = value * factor if factor > 1 else value
        # Any negative retention is "for ever", whatever its unit.
        return name, max(-1, value) if setting.name == "retention.ms" else value
    return setting.name, setting.default


def _check_together(config: TopicConfig) -> None:
    least, most = config.min_compaction_lag_ms, config.max_compaction_lag_ms
    if least > most:
        reason = f"{least} is above max.compaction.lag.ms, which is {most}: lower it"
        raise ConfigError("min.compaction.lag.ms", reason)
    if config.remote_storage_enable:
        raise ConfigError(
            "remote.storage.enable", "tiered storage is not supported yet: leave it out"
        )
