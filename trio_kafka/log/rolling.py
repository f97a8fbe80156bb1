"""A log begins a new segment: the active one is sealed, the next one's files are made.

All that needs descriptors comes first: where none is left nothing has happened. Nothing of it is
durable before the next sync.
Source: segment.bytes, segment.ms, segment.jitter.ms, segment.index.bytes.
"""

from contextlib import suppress

from trio_kafka.errors import KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durable import Unsynced
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.producers import write_snapshot
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.world.protocols import Directory, World


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
        segment = Segment.create(self._directory, base_offset, now_ms, active.files)
        active.seal()
        self._unsynced.sealed(active)
        with suppress(KafkaError):  # no descriptor: the next load begins with an older snapshot
            snapshot = write_snapshot(self._directory, active.files, base_offset, producers)
            self._unsynced.wrote(snapshot)
        self._segments.add(segment)
        self.jitter_ms = self._draw_jitter(config)
        return segment

    def _draw_jitter(self, config: LogConfig) -> int:
        most = min(config.segment_jitter_ms, config.segment_ms)
        return self._world.random.randrange(most) if most > 0 else 0
