"""One task of the log cleaner, as the tree and the metrics show it: Kafka's cleaner thread."""

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.cleaner.job import CleaningStats
from trio_kafka.log.cleaner.runner import Progress
from trio_kafka.log.cleaner.selection import DirtyLog


@define(eq=False)
class CleanerThread:
    """One task of the cleaner, and what its last run did.

    dirty, progress: of the run in progress. stats, took_s: of the last run. delay_ms: longest delay
    behind `max.compaction.lag.ms` before it.
    """

    number: int
    dirty: DirtyLog | None = field(default=None, init=False)
    progress: Progress = field(factory=Progress, init=False)
    stats: CleaningStats | None = field(default=None, init=False)
    took_s: float = field(default=0.0, init=False)
    delay_ms: int = field(default=0, init=False)
    runs: int = field(default=0, init=False)
    since: float = field(default=0.0, init=False)
    failed: bool = field(default=False, init=False)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        dirty, progress = self.dirty, self.progress
        return {
            "partition": str(dirty.log.partition) if dirty else None,
            "bytes": dirty.total_bytes if dirty else 0,
            "moved": progress.moved if dirty else 0,
            "offset": progress.offset if dirty else 0,
            "phase": ("keys" if progress.indexing else "records") if dirty else None,
            "worker": dirty.log.world.has_processes if dirty else False,
            "running_s": trio.current_time() - self.since if dirty else 0.0,
            "throttled_s": progress.throttled_s,
            "runs": self.runs,
            "last_took_s": self.took_s,
            "failed": self.failed,
        }
