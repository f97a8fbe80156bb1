"""Rolls: seal the active segment of a log and begin the next one.

Files are created first: without a free descriptor nothing has changed. Nothing is durable before
    the next sync.
Source: segment.bytes, segment.ms, segment.jitter.ms, segment.index.bytes.
"""

from contextlib import suppress

from trio_kafka.errors import KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.producer_snapshots import write_snapshot
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.log.unsynced_files import UnsyncedFiles
from trio_kafka.world.protocols import Directory, File
from trio_kafka.world.world import World


class Rolling:
    """Rolls of one log. jitter_ms: drawn for each segment and subtracted from `segment.ms`."""

    __slots__ = ("_directory", "_segments", "_unsynced", "_world", "jitter_ms")

    def __init__(
        self,
        world: World,
        directory: Directory,
        segments: Segments,
        unsynced: UnsyncedFiles,
        config: LogConfig,
    ) -> None:
        self._world = world
        self._directory = directory
        self._segments = segments
        self._unsynced = unsynced
        self.jitter_ms = self._draw_jitter(config)

    def prepare(
        self, base_offset: int, now_ms: int, config: LogConfig, producers: ProducerState
    ) -> FileWork[tuple[Segment, File | None]]:
        """Create the files of a segment that begins with `base_offset`. Call `install` next.

        Nothing may be appended, cut or synced meanwhile. producers: as they are at `base_offset`.
        Raises OSError; KafkaError(REPLICA_NOT_AVAILABLE) without a free descriptor.
        """
        active = self._segments.active
        yield from active.write_indexes()
        active.trim()
        segment = yield from Segment.create(
            self._directory, base_offset, now_ms, active.files, reserve=config.reserve
        )
        snapshot: File | None = None
        try:
            with suppress(KafkaError):  # no descriptor: the next load begins with an older snapshot
                snapshot = yield from write_snapshot(
                    self._directory, active.files, base_offset, producers
                )
        except BaseException:
            segment.close()
            raise
        return segment, snapshot

    def install(self, segment: Segment, snapshot: File | None, config: LogConfig) -> None:
        """Seal the active segment and let appends go to this one."""
        active = self._segments.active
        active.seal()
        self._unsynced.sealed(active)
        if snapshot is not None:
            self._unsynced.wrote(snapshot)
        self._segments.add(segment)
        self.jitter_ms = self._draw_jitter(config)

    def _draw_jitter(self, config: LogConfig) -> int:
        most = min(config.segment_jitter_ms, config.segment_ms)
        return self._world.random.randrange(most) if most > 0 else 0
