"""Settings of log compaction."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import CLUSTER, boolean, double, int32, int64
from trio_kafka.config.values import MAX_DOUBLE


@frozen(kw_only=True)
class CleanerSettings:
    """Settings of log compaction."""

    log_cleaner_backoff_ms: int = int64(
        15000, "Pause of a cleaner that found nothing to do.", low=0, update=CLUSTER
    )
    log_cleaner_dedupe_buffer_size: int = int64(
        134217728, "Memory of all cleaners for the keys of a log.", update=CLUSTER
    )
    log_cleaner_enable: bool = boolean(True, "Compacted topics are compacted.")
    log_cleaner_io_buffer_load_factor: float = double(
        0.9, "Largest fill of that memory.", update=CLUSTER
    )
    log_cleaner_io_buffer_size: int = int32(
        524288, "Memory of all cleaners for reading and writing.", low=0, update=CLUSTER
    )
    log_cleaner_io_max_bytes_per_second: float = double(
        MAX_DOUBLE, "The most that cleaners read and write in a second.", update=CLUSTER
    )
    log_cleaner_threads: int = int32(1, "Cleaners.", low=0, update=CLUSTER)
