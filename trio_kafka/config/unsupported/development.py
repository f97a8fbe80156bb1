"""Secrets, and settings for the development of Kafka."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import boolean, int32, int64
from trio_kafka.config.values import MAX_LONG


@frozen(kw_only=True)
class DevelopmentSettings:
    """Secrets, and settings for the development of Kafka."""

    internal_metadata_delete_delay_millis: int = int64(
        60000, "Time until deleted files of the metadata log are removed.", internal=True
    )
    internal_metadata_log_segment_bytes: int | None = int32(
        None, "Size of a segment of the metadata log, without a lower bound.", internal=True
    )
    internal_metadata_max_batch_size_in_bytes: int = int32(
        8388608, "The largest batch of the metadata log.", internal=True
    )
    server_max_startup_time_ms: int = int64(
        MAX_LONG, "Longest time for a start.", low=0, internal=True
    )
    unstable_feature_versions_enable: bool = boolean(
        False, "Versions of features that are not final may be used.", internal=True
    )
