"""A topic's settings: each given with the topic, or taken from the broker's setting for it.

Source: Apache Kafka 4.4.0, also for which broker settings give a topic's default, in which order,
and with which factor (hours to milliseconds).
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from attrs import frozen

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.setting import (
    ConfigError,
    Setting,
    boolean,
    double,
    int32,
    int64,
    settings_of,
    string,
    texts,
)
from trio_kafka.errors import ErrorCode, KafkaError

_MAX_LONG = 2**63 - 1
_MINUTES = 60_000
_HOURS = 3_600_000
_REPLICA: Final = re.compile(r"[0-9]+:[0-9]+")


def _check_replicas(items: tuple[str, ...]) -> None:
    if items == ("*",):
        return
    for item in items:
        if not _REPLICA.fullmatch(item):
            raise ValueError(f"{item!r} is no PARTITION:BROKER, and the list is not '*'")


def _from(*names: str | tuple[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple((name, 1) if isinstance(name, str) else name for name in names)


@frozen(kw_only=True)
class TopicConfig:
    """The settings that are in force for one topic."""

    cleanup_policy: tuple[str, ...] = texts(
        ("delete",),
        "What becomes of old records; empty: they stay.",
        choices=("compact", "delete"),
        server=_from("log.cleanup.policy"),
    )
    compression_gzip_level: int = int32(
        -1,
        "Level of gzip; -1: its own default.",
        low=1,
        high=9,
        also=(-1,),
        server=_from("compression.gzip.level"),
    )
    compression_lz4_level: int = int32(
        9, "Level of lz4.", low=1, high=17, server=_from("compression.lz4.level")
    )
    compression_type: str = string(
        "producer",
        "The codec that batches are stored with.",
        choices=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        server=_from("compression.type"),
    )
    compression_zstd_level: int = int32(
        3, "Level of zstd.", low=-131072, high=22, server=_from("compression.zstd.level")
    )
    delete_retention_ms: int = int64(
        86400000,
        "How long a compacted topic shows a deletion.",
        low=0,
        server=_from("log.cleaner.delete.retention.ms"),
    )
    errors_deadletterqueue_group_enable: bool = boolean(
        False, "This topic takes records that share groups could not deliver."
    )
    file_delete_delay_ms: int = int64(
        60000,
        "How long the files of a deleted segment stay.",
        low=0,
        server=_from("log.segment.delete.delay.ms"),
    )
    flush_messages: int = int64(
        _MAX_LONG,
        "The log is synced after so many records.",
        low=1,
        server=_from("log.flush.interval.messages"),
    )
    flush_ms: int = int64(
        _MAX_LONG,
        "The log is synced after so long.",
        low=0,
        server=_from("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    )
    follower_replication_throttled_replicas: tuple[str, ...] = texts(
        (), "Followers that are throttled: PARTITION:BROKER, or *.", check=_check_replicas
    )
    index_interval_bytes: int = int32(
        4096,
        "Bytes of records for one entry of an index.",
        low=0,
        server=_from("log.index.interval.bytes"),
    )
    internal_segment_bytes: int | None = int32(
        None, "Size of a segment, without a lower bound: for tests.", internal=True
    )
    leader_replication_throttled_replicas: tuple[str, ...] = texts(
        (), "Leaders that are throttled: PARTITION:BROKER, or *.", check=_check_replicas
    )
    local_retention_bytes: int = int64(
        -2,
        "As retention.bytes, of a tiered topic here; -2: the same.",
        low=-2,
        server=_from("log.local.retention.bytes"),
    )
    local_retention_ms: int = int64(
        -2,
        "As retention.ms, of a tiered topic here; -2: the same.",
        low=-2,
        server=_from("log.local.retention.ms"),
    )
    max_compaction_lag_ms: int = int64(
        _MAX_LONG,
        "A record older than this is compacted.",
        low=1,
        server=_from("log.cleaner.max.compaction.lag.ms"),
    )
    max_decompressed_message_bytes: int = int32(
        2147483639,
        "The largest batch after decompression.",
        low=1,
        high=2147483639,
        server=_from("max.decompressed.message.bytes"),
    )
    max_message_bytes: int = int32(
        1048588, "The largest batch.", low=0, server=_from("message.max.bytes")
    )
    message_timestamp_after_max_ms: int = int64(
        3600000,
        "How far in the future a record's time may be.",
        low=0,
        server=_from("log.message.timestamp.after.max.ms"),
    )
    message_timestamp_before_max_ms: int = int64(
        _MAX_LONG,
        "How far in the past a record's time may be.",
        low=0,
        server=_from("log.message.timestamp.before.max.ms"),
    )
    message_timestamp_type: str = string(
        "CreateTime",
        "Whose time records carry.",
        choices=("CreateTime", "LogAppendTime"),
        server=_from("log.message.timestamp.type"),
    )
    min_cleanable_dirty_ratio: float = double(
        0.5,
        "Share of the log that is uncompacted when it is.",
        low=0,
        high=1,
        server=_from("log.cleaner.min.cleanable.ratio"),
    )
    min_compaction_lag_ms: int = int64(
        0,
        "A record younger than this is not compacted away.",
        low=0,
        server=_from("log.cleaner.min.compaction.lag.ms"),
    )
    min_insync_replicas: int = int32(
        1, "In-sync replicas that acks=all wants.", low=1, server=_from("min.insync.replicas")
    )
    preallocate: bool = boolean(
        False, "New segments have their whole size at once.", server=_from("log.preallocate")
    )
    remote_copy_lag_bytes: int = int64(
        -1,
        "How much of a tiered topic is kept back.",
        low=-1,
        server=_from("log.remote.copy.lag.bytes"),
    )
    remote_copy_lag_ms: int = int64(
        0,
        "How long a sealed segment of a tiered topic is kept back.",
        low=-1,
        server=_from("log.remote.copy.lag.ms"),
    )
    remote_log_copy_disable: bool = boolean(False, "A tiered topic is no longer copied.")
    remote_log_delete_on_disable: bool = boolean(
        False, "Remote data goes when tiering of the topic ends."
    )
    remote_storage_enable: bool = boolean(False, "The topic is tiered.")
    retention_bytes: int = int64(
        -1, "How much of a partition is kept; -1: all.", server=_from("log.retention.bytes")
    )
    retention_ms: int = int64(
        604800000,
        "How long records are kept; -1: for ever.",
        low=-1,
        server=_from(
            "log.retention.ms", ("log.retention.minutes", _MINUTES), ("log.retention.hours", _HOURS)
        ),
    )
    segment_bytes: int = int32(
        1073741824, "Size of a segment.", low=1048576, server=_from("log.segment.bytes")
    )
    segment_index_bytes: int = int32(
        10485760, "Size of an index.", low=4, server=_from("log.index.size.max.bytes")
    )
    segment_jitter_ms: int = int64(
        0,
        "The most that is taken off a segment's age.",
        low=0,
        server=_from("log.roll.jitter.ms", ("log.roll.jitter.hours", _HOURS)),
    )
    segment_ms: int = int64(
        604800000,
        "Age of a segment.",
        low=1,
        server=_from("log.roll.ms", ("log.roll.hours", _HOURS)),
    )
    unclean_leader_election_enable: bool = boolean(
        False,
        "A replica that is behind may lead, and lose records.",
        server=_from("unclean.leader.election.enable"),
    )


TOPIC_SETTINGS: Final = settings_of(TopicConfig)


def topic_defaults(broker: BrokerConfig) -> TopicConfig:
    """The settings of a topic that was created without any."""
    return TopicConfig(**_defaults(broker))


def check_topic_defaults(broker: BrokerConfig) -> None:
    """No default of topics is out of bounds. Raises ConfigError for the broker's setting."""
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


def topic_config(given: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """The settings of a topic: what was given with it over the broker's. Raises ConfigError."""
    return _topic_config(tuple(given.items()), broker)


@lru_cache(maxsize=64)  # most topics of a cluster have one of few kinds of settings
def _topic_config(given: tuple[tuple[str, str], ...], broker: BrokerConfig) -> TopicConfig:
    fields = _defaults(broker)
    for name, text in given:
        if name not in TOPIC_SETTINGS:
            raise ConfigError(name, "is no setting of topics")
        fields[TOPIC_SETTINGS[name].field] = TOPIC_SETTINGS[name].parse(text)
    config = TopicConfig(**fields)
    _check_together(config)
    return config


def validate_topic_configs(configs: Mapping[str, str | None], broker: BrokerConfig) -> TopicConfig:
    """Check the settings of a topic that is to be created or altered.

    configs: all that the topic will have of its own, by name; Kafka refuses null values here.
    Raises KafkaError(INVALID_CONFIG), which names the setting.
    """
    unset = sorted(name for name, text in configs.items() if text is None)
    if unset:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{', '.join(unset)}: the value is null")
    try:
        return topic_config({n: text for n, text in configs.items() if text is not None}, broker)
    except ConfigError as error:
        raise KafkaError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _defaults(broker: BrokerConfig) -> dict[str, Any]:
    return {s.field: _first_set(s, broker)[1] for s in TOPIC_SETTINGS.values()}


def _first_set(setting: Setting, broker: BrokerConfig) -> tuple[str, Any]:
    """The default of a topic's setting, and the name of what gives it."""
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
        reason = f"{least} is above max.compaction.lag.ms, which is {most}"
        raise ConfigError("min.compaction.lag.ms", reason)
    if config.remote_storage_enable:
        raise ConfigError("remote.storage.enable", "tiered storage is not served yet")
