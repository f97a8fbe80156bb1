"""A log begins a new segment: the active one is sealed, the next one's files are made.

All that needs descriptors comes first: where none is left nothing has happened. Nothing of it is
durable before the next sync.
Source: segment.bytes, segment.ms, segment.jitter.ms, segment.index.bytes.
"""

from collections.abc import Callable
from contextlib import suppress

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.producers import write_snapshot, write_snapshot_slow
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.log.unsynced import Unsynced
from trio_kafka.world.protocols import Directory, File
from trio_kafka.world.world import World


class Rolling:
    """jitter_ms: how much younger than `segment.ms` the active segment is when it is full."""

    __slots__ = ("_directory", "_segments", "_unsynced", "_world", "jitter_ms")

    def __init__(
        self,
        world: World,
        directory: Directory,
        segments: Segments,
        unsynced: Unsynced,
        config: LogConfig,
    ) -> None:
        self._world = world
        self._directory = directory
        self._segments = segments
        self._unsynced = unsynced
        self.jitter_ms = self._draw_jitter(config)

    def begin(
        self, base_offset: int, now_ms: int, config: LogConfig, producers: ProducerState
    ) -> Segment:
        """Seal the active segment; the new one begins with `base_offset`. OSError.

        producers: as they are at `base_offset`. KafkaError(REPLICA_NOT_AVAILABLE): no descriptor.
        """
        active = self._segments.active
        if active.base_offset == base_offset:  # empty: full of nothing but a setting
            return active
        active.write_indexes()
        active.trim()
        segment = Segment.create(
            self._directory, base_offset, now_ms, active.files, reserve=config.reserve
        )
        snapshot: File | None = None
        with suppress(KafkaError):  # no descriptor: the next load begins with an older snapshot
            snapshot = write_snapshot(self._directory, active.files, base_offset, producers)
        return self._install(segment, snapshot, config)

    async def begin_slow(
        self,
        base_offset: int,
        now_ms: int,
        config: LogConfig,
        producers: ProducerState,
        is_open: Callable[[], bool],
    ) -> Segment | None:
        """As `begin`, with the files made by threads; None: the log is not open any more.

        Nothing may be appended, cut or synced meanwhile.
        """
        active = self._segments.active
        if active.base_offset == base_offset:
            await trio.lowlevel.checkpoint()
            return active
        with trio.CancelScope(shield=True):  # half a roll would leave files that nobody owns
            await active.write_indexes_slow()
            active.trim()
            segment = await Segment.create_slow(
                self._directory, base_offset, now_ms, active.files, reserve=config.reserve
            )
            snapshot: File | None = None
            try:
                with suppress(KafkaError):
                    snapshot = await write_snapshot_slow(
                        self._directory, active.files, base_offset, producers
                    )
            except BaseException:
                segment.close()
                raise
        if is_open():
            return self._install(segment, snapshot, config)
        segment.close()
        if snapshot is not None:
            snapshot.close()
        active.close()
        return None

    def _install(self, segment: Segment, snapshot: File | None, config: LogConfig) -> Segment:
        """Now appends go to it."""
        active = self._segments.active
        active.seal()
        self._unsynced.sealed(active)
        if snapshot is not None:
            self._unsynced.wrote(snapshot)
        self._segments.add(segment)
        self.jitter_ms = self._draw_jitter(config)
        return segment

    def _draw_jitter(self, config: LogConfig) -> int:
        most = min(config.segment_jitter_ms, config.segment_ms)
        return self._world.random.randrange(most) if most > 0 else 0
