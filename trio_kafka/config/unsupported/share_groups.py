"""Settings of share groups and their coordinator."""

from functools import partial
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.config.group_coordinator import like_consumer_group
from trio_kafka.config.setting import CLUSTER, boolean, int16, int32, string, texts

_as_of_consumers: Final = partial(like_consumer_group, "share")


@frozen(kw_only=True)
class ShareGroupSettings:
    """Settings of share groups and their coordinator."""

    errors_deadletterqueue_auto_create_topics_enable: bool = boolean(
        False,
        "A share group's topic for undeliverable records is created when it is needed.",
        update=CLUSTER,
    )
    errors_deadletterqueue_topic_name_prefix: str = string(
        "dlq.", "Prefix of the names of topics for undeliverable records.", update=CLUSTER
    )
    group_share_assignment_interval_ms: int = _as_of_consumers(
        "assignment.interval.ms", update=CLUSTER
    )
    group_share_max_assignment_interval_ms: int = _as_of_consumers("max.assignment.interval.ms")
    group_share_min_assignment_interval_ms: int = _as_of_consumers("min.assignment.interval.ms")
    group_share_assignor_offload_enable: bool = boolean(
        True,
        "Assignments are computed beside the coordinator, not in it.",
        update=CLUSTER,
        internal=True,
    )
    group_share_assignors: tuple[str, ...] = texts(("simple",), "The assignor of share groups.")
    group_share_delivery_count_limit: int = int32(
        5, "A record is delivered at most so often.", low=2, high=10
    )
    group_share_max_delivery_count_limit: int = int32(
        10, "The highest delivery limit that a group may be given.", low=5, high=25
    )
    group_share_min_delivery_count_limit: int = int32(
        2, "The lowest delivery limit that a group may be given.", low=2, high=5
    )
    group_share_heartbeat_interval_ms: int = _as_of_consumers("heartbeat.interval.ms")
    group_share_max_heartbeat_interval_ms: int = _as_of_consumers("max.heartbeat.interval.ms")
    group_share_min_heartbeat_interval_ms: int = _as_of_consumers("min.heartbeat.interval.ms")
    group_share_initialize_retry_interval_ms: int = int32(
        30000,
        "Pause before the state of a share partition is initialised again.",
        low=1,
        internal=True,
    )
    group_share_partition_max_record_locks: int = int32(
        2000, "Records of a partition that may be locked at once.", low=100, high=10000
    )
    group_share_max_partition_max_record_locks: int = int32(
        4000, "The highest number of locks that a group may be given.", low=2000, high=10000
    )
    group_share_min_partition_max_record_locks: int = int32(
        100, "The lowest number of locks that a group may be given.", low=100, high=2000
    )
    group_share_record_lock_duration_ms: int = int32(
        30000, "Time for which a delivered record stays locked.", low=1000, high=3600000
    )
    group_share_max_record_lock_duration_ms: int = int32(
        60000, "The longest lock that a group may be given.", low=30000, high=3600000
    )
    group_share_min_record_lock_duration_ms: int = int32(
        15000, "The shortest lock that a group may be given.", low=1000, high=30000
    )
    group_share_session_timeout_ms: int = _as_of_consumers("session.timeout.ms")
    group_share_max_session_timeout_ms: int = _as_of_consumers("max.session.timeout.ms")
    group_share_min_session_timeout_ms: int = _as_of_consumers("min.session.timeout.ms")
    group_share_max_share_sessions: int = int32(2000, "Share sessions that are kept.", low=1)
    group_share_max_size: int = int32(200, "The most members of a share group.", low=1, high=1000)
    share_coordinator_append_linger_ms: int = int32(
        -1,
        "Time for which the share coordinator gathers records before it writes them; -1: by load.",
        low=-1,
    )
    share_coordinator_cached_buffer_max_bytes: int = int32(
        1048588,
        "The largest write buffer that the share coordinator keeps for reuse.",
        low=524288,
        update=CLUSTER,
    )
    share_coordinator_cold_partition_snapshot_interval_ms: int = int32(
        300000,
        "A share partition without changes is written down whole so often.",
        low=1,
        internal=True,
    )
    share_coordinator_load_buffer_size: int = int32(
        5242880, "Bytes that are read at once where share state is loaded.", low=1
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = int32(
        500, "Changes of share state between two whole writes of it.", low=0, high=500
    )
    share_coordinator_state_topic_compression_codec: int = int32(
        0, "The codec of the share state topic."
    )
    share_coordinator_state_topic_min_isr: int = int16(
        2, "In-sync replicas that the share state topic wants.", low=1
    )
    share_coordinator_state_topic_num_partitions: int = int32(
        50, "Partitions of the share state topic.", low=1
    )
    share_coordinator_state_topic_prune_interval_ms: int = int32(
        300000,
        "Interval between removals of old records from the share state topic.",
        low=1,
        internal=True,
    )
    share_coordinator_state_topic_replication_factor: int = int16(
        3, "Replicas of the share state topic.", low=1
    )
    share_coordinator_state_topic_segment_bytes: int = int32(
        104857600, "Size of a segment of the share state topic.", low=1
    )
    share_coordinator_threads: int = int32(1, "Threads of the share coordinator.", low=1)
    share_coordinator_write_timeout_ms: int = int32(
        5000, "Longest wait of a write for the replicas of the share state topic.", low=1
    )
