"""One log directory: lock, identity, marker of a clean stop, checkpoints.

The first I/O error takes it offline with all of its logs.
"""

import json
from collections.abc import Callable
from operator import attrgetter
from typing import Final

import trio

from trio_kafka.errors import LogDirError, advice
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.disk_latency import DiskLatency
from trio_kafka.log.durability.close_together import close_together
from trio_kafka.log.files.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    read_offsets,
    replace_file,
    write_offsets,
)
from trio_kafka.log.files.descriptor_retry import sync_names, when_free_now
from trio_kafka.log.files.names import CLEAN, LOCK
from trio_kafka.log.log import Log
from trio_kafka.log.manager.meta_properties import NAME as META_PROPERTIES
from trio_kafka.log.manager.meta_properties import MetaProperties, read_meta_properties
from trio_kafka.log.recovery.segment_loader import Recovery
from trio_kafka.log.retention import REMOVAL
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.yield_point import UNBOUND, YieldPoint
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_SLICE: Final = 1000  # logs that are handled at a time
_logger: Final = get_logger(__name__)


def _own_start(log: Log) -> int | None:
    """Return a start offset above the base of the first segment; None: no checkpoint is needed.

    While segments are removed it is always returned, as their names may vanish in any order.
    """
    own = log.writer.change == REMOVAL or log.start_offset > log.segments.first.base_offset
    return log.start_offset if own else None


_OFFSETS: Final[dict[str, Callable[[Log], int | None]]] = {
    RECOVERY_POINTS: attrgetter("recovery_point"),
    START_OFFSETS: _own_start,
    HIGH_WATERMARKS: attrgetter("high_watermark"),
}


# Consequences of an unreadable checkpoint, for its log event.
_INSTEAD: Final = {
    RECOVERY_POINTS: "after an unclean stop, recovery reads all logs from their first segment",
    START_OFFSETS: "logs start with their first segment",
    HIGH_WATERMARKS: "high watermarks start with the logs and advance with replication",
    CLEANER_OFFSETS: "gaps between segments count as compacted",
}
_EVERYWHERE: Final = (1 << 63) - 1


class LogDirectory:
    """A log directory in use. clean: the broker stopped cleanly before.

    logs: those in it. futures: copies of logs that move here from another directory; none of a log
        that is here already, so checkpoints have one line for each partition. `LogTable` changes
        both.
    """

    def __init__(
        self,
        world: World,
        root: Directory,
        on_offline: Callable[[], None],
        *,
        yield_point: YieldPoint = UNBOUND,
    ) -> None:
        self.root = root
        self.path = root.path
        self.latency = DiskLatency(world.clock.elapsed, world.clock.waits, yield_point)
        self.latency.syncs.path = root.path
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}
        self.offline: LogDirError | None = None
        self.space_asked_from = float("-inf")  # its disk is not asked for its space before
        self.clean = False
        self.properties: MetaProperties | None = None
        self._durable: dict[str, dict[TopicPartition, int]] = {name: {} for name in _INSTEAD}
        self._offsets_at_open = self._durable
        self._written: set[str] = set()  # checkpoints of this life
        self._malformed: set[str] = set()
        self._writing = trio.Lock()
        # Further offsets for the checkpoint of recovery points, from the owner of a log that has
        # nothing else to do with this directory.
        self.durable_elsewhere: Callable[[], dict[TopicPartition, int]] = dict
        self._unlock: Callable[[], None] | None = None
        self._on_offline = on_offline

    async def open(self) -> None:
        """Lock the directory, read its identity and checkpoints.

        Raises LogDirError, also if another process uses it.
        """
        try:
            self._unlock = await when_free_now(lambda: self.root.lock(LOCK))
            self.properties = await read_meta_properties(self.root)
            await self._read_checkpoints()
            self.clean = self.root.exists(CLEAN)
            if self.clean:
                # From now on the stop is not clean, even if the process ends at once.
                await self.root.unlink(CLEAN)
                await sync_names(self.root)
        except BlockingIOError as error:
            raise LogDirError(self.path, f"{LOCK} is held by another process") from error
        except OSError as error:
            raise LogDirError(self.path, str(error)) from error

    async def _read_checkpoints(self) -> None:
        """Read all checkpoints. A malformed one counts as missing and is logged.

        Source: Kafka's LogManager starts with empty recovery points and start offsets then.
        """
        for name, instead in _INSTEAD.items():
            try:
                self._durable[name] = await read_offsets(self.root, name)
            except LogDirError as error:
                self._malformed.add(name)
                _logger.warning(
                    "malformed checkpoint ignored", path=self.path, reason=str(error), now=instead
                )
        self._offsets_at_open = {name: dict(offsets) for name, offsets in self._durable.items()}

    def recovery_of(self, partition: TopicPartition) -> Recovery:
        """Return what the checkpoints state about a partition."""
        return Recovery(
            clean=self.clean,
            recovery_point=self._offsets_at_open[RECOVERY_POINTS].get(partition, 0),
            start_offset=self._offsets_at_open[START_OFFSETS].get(partition, 0),
            high_watermark=self._offsets_at_open[HIGH_WATERMARKS].get(partition, 0),
            # Without the file any gap may come from compaction, so none is a reason to cut.
            cleaned_until=_EVERYWHERE
            if CLEANER_OFFSETS in self._malformed
            else self._offsets_at_open[CLEANER_OFFSETS].get(partition, 0),
        )

    @property
    def all_logs(self) -> tuple[Log, ...]:
        """Logs and future logs."""
        return (*self.logs.values(), *self.futures.values())

    def has_id(self, directory_id: str | None) -> bool:
        """Return whether this is the directory with that id. None: no id."""
        properties = self.properties
        return (
            directory_id is not None
            and properties is not None
            and (properties.directory_id == directory_id)
        )

    def add(self, log: Log, *, is_future: bool = False) -> None:
        """Add a log."""
        (self.futures if is_future else self.logs)[log.partition] = log
        log.on_failure = self.fail
        if CLEANER_OFFSETS in self._malformed:
            log.compacted_until = _EVERYWHERE
        elif not log.unsynced.new:  # else the checkpoint may be about a deleted log of that name
            log.compacted_until = max(log.compacted_until, self.cleaned(log.partition) or 0)
        log.lower_checkpoints = self.lower_checkpoints

    def remove(self, partition: TopicPartition, *, is_future: bool = False) -> None:
        """Remove a log."""
        del (self.futures if is_future else self.logs)[partition]

    def fail(self, error: LogDirError | OSError) -> None:
        """Go offline, with every log. Idempotent."""
        if isinstance(error, OSError):
            cause, error = error, LogDirError(self.path, str(error))
            error.__cause__ = cause
        if self.offline is None:
            self.offline = error
            reason = f"{error}{advice(error.__cause__)}"
            _logger.error("log directory offline", path=self.path, reason=reason)
            for log in self.all_logs:
                log.failed = log.failed or error
            self._on_offline()

    async def lower_checkpoints(self, *logs: Log, cut: int | None = None) -> None:
        """Rewrite checkpoints that claim more about these logs than is true now. OSError.

        Called before a log is cut, and before the first sync of a new one: the checkpoints may
            still describe an earlier log of the partition.
        cut: offset at which the logs are cut.
        """
        async with self._writing:
            for name, offset_of in (
                (RECOVERY_POINTS, attrgetter("recovery_point")),
                (START_OFFSETS, attrgetter("start_offset")),
                (HIGH_WATERMARKS, attrgetter("high_watermark")),
            ):
                durable = self._durable[name]
                if any(durable.get(log.partition, 0) > offset_of(log) for log in logs):
                    await self._write(name)
            # A log that is cut is compacted again from there on, a new one from its start.
            cleaned = dict(self._durable[CLEANER_OFFSETS])
            for log in logs:
                if log.unsynced.new:
                    cleaned.pop(log.partition, None)
                elif cut is not None and cleaned.get(log.partition, 0) > cut:
                    cleaned[log.partition] = cut
            await self._write_cleaned(cleaned)

    async def write(self, name: str) -> None:
        """Write RECOVERY_POINTS, START_OFFSETS or HIGH_WATERMARKS of all logs. OSError."""
        async with self._writing:
            await self._write(name)

    async def _write(self, name: str) -> None:
        offset_of = _OFFSETS[name]
        offsets: dict[TopicPartition, int] = {}
        logs = self.all_logs
        for start in range(0, len(logs), _SLICE):
            for log in logs[start : start + _SLICE]:
                offset = offset_of(log)
                if offset is not None:
                    offsets[log.partition] = offset
            await trio.lowlevel.checkpoint()
        if name == RECOVERY_POINTS:
            offsets |= self.durable_elsewhere()
        if name in self._written and offsets == self._durable[name]:
            return  # an idle broker syncs nothing
        with self.latency.syncs.noting(name):
            await write_offsets(self.root, name, offsets)
        self._written.add(name)
        self._durable[name] = offsets

    def cleaned(self, partition: TopicPartition) -> int | None:
        """Return the offset up to which a partition was compacted; None: never."""
        return self._durable[CLEANER_OFFSETS].get(partition)

    async def write_cleaned(self, log: Log, offset: int) -> None:
        """Write the offset up to which a log was compacted. OSError."""
        async with self._writing:
            cleaned = self._durable[CLEANER_OFFSETS]
            logs = self.logs | self.futures
            offsets = {partition: end for partition, end in cleaned.items() if partition in logs}
            if logs.get(log.partition) is log:
                offsets[log.partition] = offset
            log.compacted_until = max(log.compacted_until, offset)
            await self._write_cleaned(offsets)

    async def _write_cleaned(self, offsets: dict[TopicPartition, int]) -> None:
        if offsets != self._durable[CLEANER_OFFSETS]:
            with self.latency.syncs.noting(CLEANER_OFFSETS):
                await write_offsets(self.root, CLEANER_OFFSETS, offsets)
            self._durable[CLEANER_OFFSETS] = offsets

    async def trust_below(self, log: Log, offset: int) -> None:
        """Let the checkpoint of recovery points cover `offset` of a log. OSError.

        The log is synced up to there. A start then reads nothing below.
        """
        async with self._writing:
            if self._durable[RECOVERY_POINTS].get(log.partition, 0) < offset:
                await self._write(RECOVERY_POINTS)

    async def write_start_offsets(self) -> None:
        """Write the start offsets that are above their first segments. OSError.

        High watermarks below them are written first: recovery doubts a start offset that no other
            checkpoint confirms.
        """
        async with self._writing:
            committed = self._durable[HIGH_WATERMARKS]
            if any(log.start_offset > committed.get(log.partition, 0) for log in self.all_logs):
                await self._write(HIGH_WATERMARKS)
            await self._write(START_OFFSETS)

    async def sync_names(self) -> None:
        """Make the names of partitions durable. An error takes the directory offline."""
        if self.offline:
            await trio.lowlevel.checkpoint()
            return
        try:
            with self.latency.syncs.noting("names of partitions"):
                await sync_names(self.root)
        except OSError as error:
            self.fail(error)

    async def checkpoint(self, *names: str) -> None:
        """Write the checkpoints of these names, or all; an error takes the directory offline."""
        if self.offline is None:
            try:
                # High watermarks before start offsets: see `write_start_offsets`.
                for name in names or (RECOVERY_POINTS, HIGH_WATERMARKS, START_OFFSETS):
                    await (
                        self.write_start_offsets() if name == START_OFFSETS else self.write(name)
                    )
            except OSError as error:
                self.fail(error)

    def is_current(self, name: str) -> bool:
        """Return whether a write of a checkpoint would change nothing. O(logs), without a pause."""
        offset_of = _OFFSETS[name]
        offsets = {log.partition: offset_of(log) for log in self.all_logs}
        current = {at: offset for at, offset in offsets.items() if offset is not None}
        if name == RECOVERY_POINTS:
            current |= self.durable_elsewhere()
        return name in self._written and current == self._durable[name]

    def check_there(self) -> None:
        """Go offline if the directory is not the one that was opened, such as after an unmount.

        Open files would take appends that no later start finds, and checkpoints would be written
            into the empty directory below the mount.
        """
        try:
            exists = self.root.exists(LOCK) or self.root.exists(META_PROPERTIES)
        except OSError as error:
            self.fail(error)
            return
        if not exists:
            self.fail(LogDirError(self.path, f"{LOCK} and {META_PROPERTIES} have vanished"))

    async def high_watermarks_moved(self) -> bool:
        """Return whether the checkpoint of high watermarks is out of date."""
        await trio.lowlevel.checkpoint()
        durable, logs = self._durable[HIGH_WATERMARKS], self.all_logs
        for start in range(0, len(logs), _SLICE):
            chunk = logs[start : start + _SLICE]
            if any(durable.get(log.partition) != log.high_watermark for log in chunk):
                return True
            await trio.lowlevel.checkpoint()
        return len(durable) != len(logs)

    async def close(self, broker_epoch: int) -> None:
        """Close the logs, write checkpoints and the marker, unlock. After an error there is no
        marker.
        """
        try:
            await close_together(self.root, self.all_logs)
            await self.checkpoint()
            if self.offline is None:
                marker = json.dumps(
                    {"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")
                )
                await replace_file(self.root, CLEAN, marker.encode())
                await self.root.unlink(LOCK)
        except (LogDirError, OSError) as error:
            self.fail(error)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files and unlock, without checkpoints. Idempotent."""
        for log in self.all_logs:
            log.abandon()
        if self._unlock is not None:
            self._unlock()
            self._unlock = None
