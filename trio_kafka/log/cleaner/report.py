"""Log events of a run that has ended: its counts, and warnings for what it could not read."""

from typing import Final

from trio_kafka.introspect.log import get_logger
from trio_kafka.log.cleaner.job import CleaningResult
from trio_kafka.log.cleaner.selection import DirtyLog

_LONGEST: Final = 1000  # characters of a list in a log event
_logger: Final = get_logger(__name__)


def report_run(dirty: DirtyLog, cleaned: CleaningResult, took_s: float) -> None:
    """Log what a run has done. took_s: its duration in seconds."""
    stats, log = cleaned.stats, dirty.log
    _logger.info(
        "log compacted",
        partition=str(log.partition),
        dirty_from=dirty.first_dirty_offset,
        dirty_to=cleaned.end_offset,
        bytes_read=stats.bytes_read,
        bytes_written=stats.bytes_written,
        messages_read=stats.messages_read,
        messages_written=stats.messages_written,
        map_used_percent=round(100 * stats.map_utilization, 1),
        took_ms=round(took_s * 1000),
    )
    if stats.unreadable_batches:
        batches = [batch for group in cleaned.groups for batch in group.unreadable]
        _logger.warning(
            "unreadable batches found",
            partition=str(log.partition),
            batches=stats.unreadable_batches,
            removed="; ".join(str(batch) for batch in batches if batch.removed)[:_LONGEST],
            kept="; ".join(str(batch) for batch in batches if not batch.removed)[:_LONGEST],
        )
    if stats.invalid_messages:
        _logger.warning(
            "records without a key removed",
            partition=str(log.partition),
            records=stats.invalid_messages,
        )
