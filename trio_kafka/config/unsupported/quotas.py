"""Settings of replication quotas."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, int32, int64
from trio_kafka.config.values import MAX_LONG


@frozen(kw_only=True)
class QuotaSettings:
    """Settings of replication quotas."""

    alter_log_dirs_replication_quota_window_num: int = int32(
        11, "Windows that moves between directories are measured over.", low=1
    )
    alter_log_dirs_replication_quota_window_size_seconds: int = int32(
        1, "Length of each of those windows.", low=1
    )
    follower_replication_throttled_rate: int = int64(
        MAX_LONG, "The most that throttled replicas fetch here in a second.", low=0, update=CLUSTER
    )
    leader_replication_throttled_rate: int = int64(
        MAX_LONG,
        "The most that throttled replicas are given here in a second.",
        low=0,
        update=CLUSTER,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = int64(
        MAX_LONG,
        "The most that moves between directories write in a second.",
        low=0,
        update=CLUSTER,
    )
    replication_quota_window_num: int = int32(
        11, "Windows that replication is measured over.", low=1
    )
    replication_quota_window_size_seconds: int = int32(1, "Length of each of those windows.", low=1)
