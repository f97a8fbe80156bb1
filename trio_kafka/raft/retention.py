"""Removal of expired metadata snapshots, each with the log below the next snapshot.

The oldest go first: while log and snapshots together exceed the size limit, and when their last
record is too old. The newest whole snapshot stays, whatever the settings say.
The name of a snapshot is durably removed before the first segment is. Segment names may be lost in
any order, and a start that finds the oldest snapshot treats all log below it as superfluous.
Source: metadata.max.retention.bytes, metadata.max.retention.ms; KIP-630.
"""

from functools import partial
from typing import Final

from attrs import Factory

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import sync_names, when_free, when_free_now
from trio_kafka.log.log import Log
from trio_kafka.log.retention import delete_before
from trio_kafka.raft.snapshot import SnapshotId, read_timestamp, snapshots_in
from trio_kafka.world.protocols import Directory

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class Retention:
    """Limits of size and age; -1: no limit. Defaults are Kafka's."""

    max_bytes: int = 100 << 20
    max_ms: int = 604_800_000


@define
class SnapshotCleaner:
    """Removal of snapshots in one directory; caches their sizes and timestamps."""

    _directory: Directory
    retention: Retention
    _sizes: dict[SnapshotId, int] = Factory(dict)
    _timestamps: dict[SnapshotId, int] = Factory(dict)

    async def clean(self, log: Log, newest: SnapshotId | None, now_ms: int) -> int | None:
        """Remove expired snapshots before `newest`, and the log below the oldest that is kept.

        Returns when the next one expires (wall time, ms); None if none will without a newer one.
        Raises OSError, LogDirError.
        """
        keep = self.retention
        snapshots = [
            at for at in await snapshots_in(self._directory) if newest is not None and at <= newest
        ]
        total = sum([await self.size(at) for at in snapshots])
        while len(snapshots) > 1 and 0 <= keep.max_bytes < log.size + total:
            reason = f"found {log.size + total} bytes, the limit is {keep.max_bytes}"
            total -= await self.size(snapshots[0])
            await self._remove(snapshots.pop(0), log, start=snapshots[0].offset, reason=reason)
        while len(snapshots) > 1 and keep.max_ms >= 0:
            timestamp_ms = await self._timestamp_ms(snapshots[0])
            age_ms = now_ms - timestamp_ms
            if age_ms <= keep.max_ms:
                return timestamp_ms + keep.max_ms + 1
            reason = f"its last record is {age_ms} ms old, the limit is {keep.max_ms}"
            await self._remove(snapshots.pop(0), log, start=snapshots[0].offset, reason=reason)
        return None

    async def size(self, at: SnapshotId) -> int:
        """Return the size of a snapshot in bytes. OSError."""
        if at not in self._sizes:
            file = await when_free_now(lambda: self._directory.open(at.name))
            self._sizes[at] = file.size
            file.close()
        return self._sizes[at]

    async def _timestamp_ms(self, at: SnapshotId) -> int:
        if at not in self._timestamps:
            self._timestamps[at] = await read_timestamp(self._directory, at)
        return self._timestamps[at]

    async def _remove(self, oldest: SnapshotId, log: Log, *, start: int, reason: str) -> None:
        """Remove a snapshot, then the log below `start`."""
        _logger.info("metadata snapshot removed", name=oldest.name, reason=reason)
        await self._directory.unlink(oldest.name)
        checkpoint = partial(sync_names, self._directory)
        await checkpoint()
        self._sizes.pop(oldest, None)
        self._timestamps.pop(oldest, None)
        await when_free(partial(delete_before, log, start, checkpoint))
