"""Settings of a topic in the form that its logs and partitions use."""

from functools import lru_cache
from typing import Final

from attrs import field, fields

from trio_kafka.attributes import frozen
from trio_kafka.config.topic import TopicConfig
from trio_kafka.log.config import LogConfig
from trio_kafka.records.compression import Codec
from trio_kafka.records.validate import DEFAULT_LIMITS, Limits

_CODECS: Final = {
    "producer": None,
    "uncompressed": Codec.NONE,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
_KEPT: Final = 128  # most topics of a cluster share a few combinations of settings
_SHARED: Final = tuple(
    field_.name for field_ in fields(LogConfig) if field_.init and field_.name != "cleanup_policy"
)


@frozen(kw_only=True)
class PartitionSettings:
    """Settings of a topic for its leaders.

    codec: codec of stored batches; None: that of the producer. walk: check every record, not only
        headers.
    need_keys: the topic is compacted. as_sent: none of these, so batches are stored as sent unless
        they are suspicious.
    """

    limits: Limits = DEFAULT_LIMITS
    min_insync_replicas: int = 1
    codec: Codec | None = None
    level: int | None = None
    walk: bool = False
    need_keys: bool = False
    as_sent: bool = field(init=False)

    @as_sent.default
    def _stores_unseen(self) -> bool:
        return not self.walk and not self.need_keys and self.codec is None


DEFAULT_SETTINGS: Final = PartitionSettings()


@lru_cache(maxsize=_KEPT)
def log_config(topic: TopicConfig) -> LogConfig:
    """Return the settings for logs; one object for all topics with the same settings."""
    shared = {name: getattr(topic, name) for name in _SHARED}
    if topic.internal_segment_bytes is not None:
        # Without the lower bound of segment.bytes, for tests.
        shared["segment_bytes"] = topic.internal_segment_bytes
    return LogConfig(cleanup_policy=frozenset(topic.cleanup_policy), **shared)


@lru_cache(maxsize=_KEPT)
def partition_settings(topic: TopicConfig, *, full_validation: bool) -> PartitionSettings:
    """Return the settings for leaders, one object as `log_config`.

    full_validation: `trio.record.validation=full`.
    """
    codec = _CODECS[topic.compression_type]
    levels = {
        Codec.GZIP: topic.compression_gzip_level,
        Codec.LZ4: topic.compression_lz4_level,
        Codec.ZSTD: topic.compression_zstd_level,
    }
    return PartitionSettings(
        limits=Limits(
            max_message_bytes=topic.max_message_bytes,
            max_record_bytes=topic.max_decompressed_message_bytes,
            log_append_time=topic.message_timestamp_type == "LogAppendTime",
            before_max_ms=topic.message_timestamp_before_max_ms,
            after_max_ms=topic.message_timestamp_after_max_ms,
        ),
        min_insync_replicas=topic.min_insync_replicas,
        codec=codec,
        level=None if codec is None else levels.get(codec),
        walk=full_validation,
        need_keys="compact" in topic.cleanup_policy,
    )
