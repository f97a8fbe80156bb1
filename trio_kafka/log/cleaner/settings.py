"""Settings of the cleaner, one value for all logs of a broker.

Source: log.cleaner.* of Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.attributes import frozen

UNLIMITED: Final = 1.7976931348623157e308


@frozen(kw_only=True)
class CleanerSettings:
    """Settings of all cleaners together, and of each run.

    enabled: False: compacted logs are never compacted. backoff_ms: least time between two looks of
    a cleaner that found nothing to do. io_max_bytes_per_second: bytes read and written by all
    cleaners.
    """

    enabled: bool = True
    threads: int = 1
    dedupe_buffer_bytes: int = 134_217_728
    load_factor: float = 0.9
    io_buffer_bytes: int = 524_288
    io_max_bytes_per_second: float = UNLIMITED
    backoff_ms: int = 15_000

    @property
    def bytes_per_second(self) -> float | None:
        """Rate of one cleaner; None: not limited."""
        if self.io_max_bytes_per_second >= UNLIMITED:
            return None
        return self.io_max_bytes_per_second / max(self.threads, 1)

    @property
    def map_bytes(self) -> int:
        """Memory of one cleaner for the keys of a log."""
        return self.dedupe_buffer_bytes // max(self.threads, 1)

    @property
    def read_bytes(self) -> int:
        """Bytes that one cleaner reads at once; the other half of its memory is for writing."""
        return max(self.io_buffer_bytes // max(self.threads, 1) // 2, 1)
