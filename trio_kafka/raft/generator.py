"""When to write a snapshot: after so many bytes of log, or so long after the first record that no
snapshot has.

A publisher, as the loader's image is what a snapshot holds; the writing is a task of its own, in
slices. Nothing ticks: without a new record there is nothing to write and no timer.
Source: metadata.log.max.record.bytes.between.snapshots, metadata.log.max.snapshot.interval.ms;
KIP-630.
"""

from math import inf
from typing import NoReturn

import trio
from attrs import frozen

from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.dump import records_of
from trio_kafka.metadata.features import METADATA_VERSION
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.raft.driver import RaftDriver
from trio_kafka.raft.snapshot import SnapshotId


@frozen(kw_only=True)
class SnapshotSettings:
    """Names as in the broker's configuration, with `metadata.log.` before. 0 ms: no interval."""

    max_record_bytes_between_snapshots: int = 20 << 20
    max_snapshot_interval_ms: int = 3_600_000


class SnapshotGenerator:
    """Give it to the loader as the last publisher, and run it."""

    def __init__(self, driver: RaftDriver, settings: SnapshotSettings, node: Node) -> None:
        self._driver = driver
        self._settings = settings
        self._node = node
        self._image: MetadataImage | None = None
        self._changed = trio.Event()
        self._deadline = inf
        self._written = 0

    def publish(self, _delta: MetadataDelta, image: MetadataImage, /) -> None:
        self._image = image
        if self._deadline == inf and self._settings.max_snapshot_interval_ms:
            self._deadline = trio.current_time() + self._settings.max_snapshot_interval_ms / 1000
            self._changed.set()
        if self._full:
            self._changed.set()

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Write when it is time, until cancelled. Raises OSError, LogDirError."""
        with self._node.child("snapshot-generator", "task", self._figures):
            task_status.started()
            while True:
                with trio.move_on_at(self._deadline):
                    await self._changed.wait()
                self._changed = trio.Event()
                due = trio.current_time() >= self._deadline
                if self._image is not None and (due or self._full):
                    await self._write(self._image)

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

    def _figures(self) -> Figures:
        return {
            "bytes_since": self._driver.store.size_since_snapshot,
            "written": self._written,
            "newest": self._driver.store.snapshot.offset if self._driver.store.snapshot else None,
        }
