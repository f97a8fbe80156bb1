"""Settings of tiered storage."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, boolean, double, int32, int64, string
from trio_kafka.config.values import MAX_LONG


@frozen(kw_only=True)
class RemoteSettings:
    """Settings of tiered storage."""

    follower_fetch_last_tiered_offset_enable: bool = boolean(
        False,
        "A new follower begins at the first offset that is not yet in tiered storage.",
        update=CLUSTER,
    )
    remote_fetch_max_wait_ms: int = int32(
        500, "Longest wait of a fetch for remote data.", low=1, update=CLUSTER
    )
    remote_list_offsets_request_timeout_ms: int = int64(
        30000, "Longest wait of a search for offsets in remote data.", low=1, update=CLUSTER
    )
    remote_log_index_file_cache_total_size_bytes: int = int64(
        1073741824, "Size of the cache of remote indexes.", low=1, update=CLUSTER
    )
    remote_log_index_file_cache_ttl_ms: int = int64(
        900000, "Time after which an unused index leaves the cache.", low=-1, internal=True
    )
    remote_log_manager_copier_thread_pool_size: int = int32(
        10, "Threads that copy segments to remote storage.", low=1, update=CLUSTER
    )
    remote_log_manager_copy_max_bytes_per_second: int = int64(
        MAX_LONG, "The most that is copied to remote storage in a second.", low=1, update=CLUSTER
    )
    remote_log_manager_copy_quota_window_num: int = int32(
        11, "Windows that the copy rate is measured over.", low=1
    )
    remote_log_manager_copy_quota_window_size_seconds: int = int32(
        1, "Length of each of those windows.", low=1
    )
    remote_log_manager_expiration_thread_pool_size: int = int32(
        10, "Threads that delete expired remote segments.", low=1, update=CLUSTER
    )
    remote_log_manager_fetch_max_bytes_per_second: int = int64(
        MAX_LONG, "The most that is fetched from remote storage in a second.", low=1, update=CLUSTER
    )
    remote_log_manager_fetch_quota_window_num: int = int32(
        11, "Windows that the fetch rate is measured over.", low=1
    )
    remote_log_manager_fetch_quota_window_size_seconds: int = int32(
        1, "Length of each of those windows.", low=1
    )
    remote_log_manager_follower_thread_pool_size: int = int32(
        2, "Threads that follow remote state for follower partitions.", low=1, update=CLUSTER
    )
    remote_log_manager_task_interval_ms: int = int64(
        30000, "Interval between copies of a partition to remote storage.", low=1
    )
    remote_log_manager_task_retry_backoff_max_ms: int = int64(
        30000, "Longest pause before remote work is tried again.", low=1, internal=True
    )
    remote_log_manager_task_retry_backoff_ms: int = int64(
        500, "First pause before remote work is tried again.", low=1, internal=True
    )
    remote_log_manager_task_retry_jitter: float = double(
        0.2, "Random share of those pauses.", low=0, high=0.5, internal=True
    )
    remote_log_manager_thread_pool_size: int = int32(2, "Threads of remote work.", low=1)
    remote_log_metadata_custom_metadata_max_bytes: int = int32(
        128, "The most that a plugin may attach to a remote segment.", low=0
    )
    remote_log_metadata_manager_listener_name: str | None = string(
        None, "The listener that remote metadata goes through.", not_empty=True
    )
    remote_log_reader_max_pending_tasks: int = int32(100, "Remote reads that may wait.", low=1)
    remote_log_reader_threads: int = int32(
        10, "Threads that read from remote storage.", low=1, update=CLUSTER
    )
    remote_log_storage_system_enable: bool = boolean(False, "Topics may be tiered.")
