"""How long periodic work on the logs would find nothing to do, if nothing else happens.

`Scheduler.every` takes these as `idle_s`: while a test moves the clock, such runs are left out.
Each function returns seconds from now on, infinity for work that only a change of the logs brings.
None of them reads a file.
"""

from collections.abc import Iterator
from math import inf

from trio_kafka.log.log import Log
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.retention import age_ms, exceeds_size


def retention_idle_s(logs: LogManager) -> float:
    """Seconds until a segment becomes older than `retention.ms`.

    0: there is something to remove, or the age of a segment is not known yet.
    """
    moving = [log for directory in logs.online for log in directory.futures.values()]
    if any(_has_hidden(log) for log in moving):
        return 0.0
    return min((_retained_s(log) for log in logs.logs if not log.closed), default=inf)


def _has_hidden(log: Log) -> bool:
    """Return whether the first segment is below the start offset."""
    first_end = log.segments.end_of(0, log.end_offset)
    return bool(log.segments.first.size) and first_end <= log.start_offset


def _retained_s(log: Log) -> float:
    segment, config = log.segments.first, log.config
    if config.compacts:
        return inf  # left to the cleaner
    if _has_hidden(log) or exceeds_size(log) or not segment.timestamps_known:
        return 0.0
    if not config.deletes or config.retention_ms < 0 or not segment.size:
        return inf
    return max(config.retention_ms + 1 - age_ms(log, 0, segment, now_ms=log.now_ms()), 0) / 1000


def checkpoint_idle_s(logs: LogManager, name: str) -> float:
    """Seconds until a checkpoint has to be written: 0 if it is out of date."""
    return inf if all(directory.is_current(name) for directory in logs.online) else 0.0


def flush_idle_s(logs: LogManager) -> float:
    """Seconds until `flush.ms` of a log has passed."""
    return max(min(_flush_times_ms(logs), default=inf) - logs.now_ms(), 0.0) / 1000


def _flush_times_ms(logs: LogManager) -> Iterator[int]:
    for log in logs.logs:
        if log.recovery_point < log.end_offset:
            yield log.last_sync_ms + log.config.flush_ms


def producers_idle_s(logs: LogManager, silent_ms: int) -> float:
    """Seconds until an idempotent producer has been silent for `silent_ms`."""
    last_ms = min(
        (
            producer.timestamp
            for log in logs.logs
            for producer in log.producers
            if producer.transaction_first_offset is None
        ),
        default=inf,
    )
    return max(last_ms + silent_ms - logs.now_ms(), 0.0) / 1000
