"""Topic settings of a log: Kafka's names in snake case, Kafka's defaults.

Source: topic settings of Apache Kafka 4.4.0.
"""

from typing import Final, Literal

from trio_kafka.attributes import frozen

MAX_LONG: Final = (1 << 63) - 1


@frozen(kw_only=True)
class LogConfig:
    """Settings of a log. Sizes in bytes, times in milliseconds. -1 turns a retention rule off."""

    cleanup_policy: frozenset[str] = frozenset({"delete"})
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = MAX_LONG
    flush_ms: int = MAX_LONG
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = MAX_LONG
    max_message_bytes: int = 1_048_588
    message_timestamp_after_max_ms: int = 3_600_000
    message_timestamp_before_max_ms: int = MAX_LONG
    message_timestamp_type: Literal["CreateTime", "LogAppendTime"] = "CreateTime"
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1_073_741_824
    segment_index_bytes: int = 10_485_760
    segment_jitter_ms: int = 0
    segment_ms: int = 604_800_000

    @property
    def reserve(self) -> int:
        """Initial file length of a new segment, in bytes; 0: the file grows."""
        return self.segment_bytes if self.preallocate else 0

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        """True if old segments are removed by time and size, not only by the start offset."""
        return "delete" in self.cleanup_policy
