"""Settings of metrics and client telemetry."""

from trio_kafka.attributes import frozen
from trio_kafka.config.setting import int32, int64, string


@frozen(kw_only=True)
class ObservingSettings:
    """Settings of metrics and client telemetry."""

    controller_performance_always_log_threshold_ms: int = int64(
        2000, "An event of the controller that takes longer is always logged.", low=0, internal=True
    )
    controller_performance_sample_period_ms: int = int64(
        60000, "Interval between samples of the controller's times.", low=100, internal=True
    )
    metrics_num_samples: int = int32(2, "Samples that a metric is computed from.", low=1)
    metrics_recording_level: str = string("INFO", "The least important metrics that are recorded.")
    metrics_sample_window_ms: int = int64(30000, "Length of each sample.", low=1)
    telemetry_max_bytes: int = int32(
        1048576, "The largest telemetry that a client may send.", low=1
    )
