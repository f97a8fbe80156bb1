"""Metrics of the log cleaner."""

from typing import Final

from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, of_bean

_CLEANER: Final = "kafka.log:type=LogCleaner,name="
_MANAGER: Final = "kafka.log:type=LogCleanerManager,name="
_DIRECTORY: Final = "logDirectory={logDirectory}"

DEAD = of_bean(f"{_CLEANER}DeadThreadCount", "Cleaners that have failed.")
RECOPIED = of_bean(
    f"{_CLEANER}cleaner-recopy-percent", "Bytes that the last runs wrote, of those they read, %."
)
MAP_USED = of_bean(
    f"{_CLEANER}max-buffer-utilization-percent", "Largest use of a key map in the last runs, %."
)
LONGEST = of_bean(f"{_CLEANER}max-clean-time-secs", "Longest of the last runs, s.")
DELAY = of_bean(
    f"{_CLEANER}max-compaction-delay-secs",
    "Longest time by which a record was older than max.compaction.lag.ms, s.",
)
DIRTIEST = of_bean(f"{_MANAGER}max-dirty-percent", "Dirty share of the dirtiest log, %.")
SINCE = of_bean(
    f"{_MANAGER}time-since-last-run-ms",
    "Time since a cleaner last looked for a dirty log; 0 while it sleeps as no log changes, ms.",
)
UNCLEANABLE_BYTES = of_bean(
    f"{_MANAGER}uncleanable-bytes,{_DIRECTORY}", "Dirty bytes of uncleanable partitions."
)
UNCLEANABLE = of_bean(
    f"{_MANAGER}uncleanable-partitions-count,{_DIRECTORY}", "Uncleanable partitions."
)
MOVED = of_bean(
    "kafka.utils:type=Throttler,name=cleaner-io",
    "Bytes that finished runs have read and written.",
    "Count",
)


def read_cleaner(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics of the cleaner, in steps."""
    cleaner = parts.cleaner
    cleaners = cleaner.cleaners
    stats = [run.stats for run in cleaners if run.stats is not None]
    read = sum(run.bytes_read for run in stats)
    collected.set(DEAD, sum(run.failed for run in cleaners))
    collected.set(RECOPIED, 100 * sum(run.bytes_written for run in stats) // max(read, 1))
    used = max((run.map_utilization for run in stats), default=0.0)
    collected.set(MAP_USED, round(100 * used, 1))
    collected.set(LONGEST, max((run.took_s for run in cleaners), default=0.0))
    collected.set(DELAY, max((run.delay_ms for run in cleaners), default=0) / 1000)
    collected.set(DIRTIEST, int(100 * cleaner.dirtiest_ratio))
    collected.set(SINCE, int(1000 * cleaner.overdue_s))
    collected.summary(MOVED, (), cleaner.moved_bytes)
    yield
    for directory in parts[LogManager].directories:
        count, size = cleaner.uncleanable(directory)
        collected.set(UNCLEANABLE, count, directory.path)
        collected.set(UNCLEANABLE_BYTES, size, directory.path)
    yield
