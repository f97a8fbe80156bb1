"""One log directory: its lock, its identity, the marker of a clean stop, its checkpoints.

The first I/O error takes it offline with all of its logs.
"""

import json
from collections.abc import Callable
from typing import Final

from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    START_OFFSETS,
    read_offsets,
    replace_file,
    write_offsets,
)
from trio_kafka.log.log import Log
from trio_kafka.log.meta_properties import MetaProperties, read_meta_properties
from trio_kafka.log.pace import Pace
from trio_kafka.log.recovery import Known
from trio_kafka.model import TopicPartition
from trio_kafka.world.protocols import Directory, World

LOCK: Final = ".lock"
CLEAN: Final = ".kafka_cleanshutdown"
_logger: Final = get_logger(__name__)


class LogDirectory:
    """A directory in use. clean: the last life ended in order; logs: those that live here."""

    def __init__(self, world: World, root: Directory, on_offline: Callable[[], None]) -> None:
        self.root = root
        self.path = root.path
        self.pace = Pace(world.clock.elapsed)
        self.logs: dict[TopicPartition, Log] = {}
        self.offline: LogDirError | None = None
        self.clean = False
        self.properties: MetaProperties | None = None
        self._known: dict[TopicPartition, Known] = {}
        self._unlock: Callable[[], None] | None = None
        self._on_offline = on_offline

    async def open(self) -> None:
        """Lock it, and read what it says of itself. Raises LogDirError, also where it is in use."""
        try:
            self._unlock = self.root.lock(LOCK)
            self.properties = await read_meta_properties(self.root)
            await self._read_checkpoints()
            self.clean = self.root.exists(CLEAN)
            if self.clean:
                # From now on this life is not clean, also if it ends at once.
                await self.root.unlink(CLEAN)
                await self.root.sync()
        except BlockingIOError:
            raise LogDirError(self.path, f"{LOCK} is held by another process") from None
        except OSError as error:
            raise LogDirError(self.path, str(error)) from error

    async def _read_checkpoints(self) -> None:
        names = (RECOVERY_POINTS, START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)
        points, starts, marks, cleaned = [await read_offsets(self.root, name) for name in names]
        for partition in {*points, *starts, *marks, *cleaned}:
            self._known[partition] = Known(
                recovery_point=points.get(partition, 0),
                start_offset=starts.get(partition, 0),
                high_watermark=marks.get(partition, 0),
                cleaned_until=cleaned.get(partition, 0),
            )

    def known(self, partition: TopicPartition) -> Known:
        """What the checkpoints say of a partition."""
        known = self._known.get(partition, Known())
        known.clean = self.clean
        return known

    def add(self, log: Log) -> None:
        """Take a log in."""
        self.logs[log.partition] = log
        log.on_failure = self.fail
        log.before_cut = self.write_recovery_points

    def fail(self, error: LogDirError) -> None:
        """Go offline, with every log. Idempotent."""
        if self.offline is None:
            self.offline = error
            _logger.error("log directory offline", path=self.path, reason=str(error))
            for log in self.logs.values():
                log.failed = log.failed or error
            self._on_offline()

    async def write_recovery_points(self) -> None:
        """Write down up to where logs are durable. OSError."""
        points = {partition: log.recovery_point for partition, log in self.logs.items()}
        await write_offsets(self.root, RECOVERY_POINTS, points)

    async def write_start_offsets(self) -> None:
        """Write down the start offsets above the first segments'. OSError.

        Also those of logs whose segments go just now: their names may go in any order.
        """
        starts = {
            partition: log.start_offset
            for partition, log in self.logs.items()
            if log.deleting or log.start_offset > log.segments.first.base_offset
        }
        await write_offsets(self.root, START_OFFSETS, starts)

    async def write_high_watermarks(self) -> None:
        """Write down the high watermarks. OSError."""
        marks = {partition: log.high_watermark for partition, log in self.logs.items()}
        await write_offsets(self.root, HIGH_WATERMARKS, marks)

    async def checkpoint(self) -> None:
        """Write all checkpoints; an error takes the directory offline."""
        if self.offline is None:
            try:
                await self.write_recovery_points()
                await self.write_start_offsets()
                await self.write_high_watermarks()
            except OSError as error:
                self.fail(LogDirError(self.path, str(error)))

    async def close(self, broker_epoch: int) -> None:
        """Close the logs, write checkpoints and marker, unlock. What fails leaves no marker."""
        try:
            for log in list(self.logs.values()):
                await log.close()
            await self.checkpoint()
            if self.offline is None:
                marker = json.dumps(
                    {"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")
                )
                await replace_file(self.root, CLEAN, marker.encode())
                await self.root.unlink(LOCK)
        except LogDirError as error:
            self.fail(error)
        except OSError as error:
            self.fail(LogDirError(self.path, str(error)))
        finally:
            for log in self.logs.values():
                log.abandon()
            if self._unlock is not None:
                self._unlock()
                self._unlock = None
