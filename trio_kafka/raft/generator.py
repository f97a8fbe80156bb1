"""Schedule of metadata snapshots: after a number of log bytes, or an interval after new records.

The generator is a metadata publisher, because a snapshot is written from the published image; a
separate task writes it in slices. The task also removes expired snapshots: a minute after new
records, and when the oldest snapshot expires. An idle log causes no wake-ups except for that
expiry.
Source: metadata.log.max.record.bytes.between.snapshots, metadata.log.max.snapshot.interval.ms;
KIP-630; Kafka's RaftClient looks for expired snapshots once a minute.
"""

from math import inf
from typing import Final, NoReturn

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.dump import records_of
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.raft.snapshot import SnapshotId

_CLEAN_S: Final = 60.0


@frozen(kw_only=True)
class SnapshotSettings:
    """Snapshot settings, named as in the configuration after `metadata.log.`. 0 ms: no interval."""

    max_record_bytes_between_snapshots: int = 20 << 20
    max_snapshot_interval_ms: int = 3_600_000


class SnapshotGenerator:
    """Publisher and task that write snapshots; add it to the loader as the last publisher."""

    def __init__(self, driver: RaftDriver, settings: SnapshotSettings, node: Node) -> None:
        self._driver = driver
        self._settings = settings
        self._node = node
        self._image: MetadataImage | None = None
        self._changed = trio.Event()
        self._deadline = inf
        self._clean_at = inf
        self._written = 0

    def publish(self, _delta: MetadataDelta, image: MetadataImage, /) -> None:
        self._image = image
        if self._deadline == inf and self._settings.max_snapshot_interval_ms:
            self._deadline = trio.current_time() + self._settings.max_snapshot_interval_ms / 1000
            self._changed.set()
        if self._clean_at > trio.current_time() + _CLEAN_S:
            self._clean_at = trio.current_time() + _CLEAN_S
            self._changed.set()
        if self._full:
            self._changed.set()

    @waits_for_work("enough records for a snapshot")
    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Write and remove snapshots when due, until cancelled. Raises OSError, LogDirError."""
        with self._node.child("snapshot-generator", "task", self._figures):
            task_status.started()
            while True:
                with trio.move_on_at(min(self._deadline, self._clean_at)):
                    await self._changed.wait()
                self._changed = trio.Event()
                due = trio.current_time() >= self._deadline
                if self._image is not None and (due or self._full):
                    await self._write(self._image)
                    await self._clean()
                elif trio.current_time() >= self._clean_at:
                    await self._clean()

    @property
    def _full(self) -> bool:
        most = self._settings.max_record_bytes_between_snapshots
        return self._driver.store.size_since_snapshot >= most

    async def _write(self, image: MetadataImage) -> None:
        self._deadline = inf  # the next record begins the next interval
        await self._driver.write_snapshot(
            SnapshotId(image.offset, image.epoch),
            records_of(image),
            level=image.features[METADATA_VERSION],
            timestamp_ms=image.timestamp_ms,
        )
        self._written += 1

    async def _clean(self) -> None:
        self._clean_at = inf
        store = self._driver.store
        next_ms = await store.remove_expired()
        if next_ms is not None:
            wait_s = next_ms / 1000 - store.world.clock.wall()
            self._clean_at = min(self._clean_at, trio.current_time() + max(wait_s, _CLEAN_S))

    def _figures(self) -> Figures:
        return {
            "bytes_since": self._driver.store.size_since_snapshot,
            "written": self._written,
            "newest": self._driver.store.snapshot.offset if self._driver.store.snapshot else None,
        }
