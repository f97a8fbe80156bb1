"""One partition's log: batches in segments, with the state that decides what may be read and
appended.

An append is one synchronous call without a checkpoint: whole or not at all, never cut by a
cancellation. Made by `recovery.open_log`. Appends and truncations have one caller at a time; reads
(`queries`) and syncs (`sync`) any number. An I/O error fails the log for good, as LogDirError.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NoReturn

import trio

from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.append import Appended, check_producers, check_sizes, new_appended
from trio_kafka.log.config import LogConfig
from trio_kafka.log.disk_latency import LONG_APPEND_S, Pace
from trio_kafka.log.epochs import LeaderEpochs
from trio_kafka.log.markers import note_batch
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.rolling import Rolling
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.log.unsynced import Unsynced
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.records.header import STAMP, BatchHeader, stamp_append_time
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_NO_TIME: Final = -1


class Log:
    """Offsets: start_offset <= high_watermark <= end_offset; recovery_point: durable below.

    flush_end: where the last append ended that `flush.messages` wants durable; see `durable_end`.
    on_durable: called when a sync has let `durable_end` grow.
    pace: whether the directory is slow. failed: the error that took the log offline.
    wants_sync: called when a segment was sealed or `flush.messages` is reached: let `sync` run
    soon.
    busy: segments are being cut, or an append is not whole yet: nobody else may append.
    deleting: segments are being removed now; cuts: how often they were cut or removed.
    lower_checkpoints: awaited with logs of one directory, before they are cut and before the first
        sync of new ones: no checkpoint may say more than is true from then on.
    """

    def __init__(
        self,
        world: World,
        directory: Directory,
        partition: TopicPartition,
        config: LogConfig,
        *,
        segments: Segments,
        end_offset: int,
        start_offset: int,
        recovery_point: int,
        epochs: LeaderEpochs,
        producers: ProducerState,
        unsynced: Unsynced,
        pace: Pace,
    ) -> None:
        self.world = world
        self.directory = directory
        self.partition = partition
        self.config = config
        self.topic_id: TopicId | None = None
        self.segments = segments
        self.epochs = epochs
        self.producers = producers
        self.unsynced = unsynced
        self.pace = pace
        self.start_offset = start_offset
        self.end_offset = end_offset
        self.recovery_point = recovery_point
        self.flush_end = recovery_point
        self.failed: LogDirError | None = None
        self.wants_sync: Callable[[Log], None] = _nobody
        self.on_failure: Callable[[LogDirError], None] = _nobody
        self.on_durable: Callable[[], None] = _nothing
        self.lower_checkpoints: Callable[..., Awaitable[None]] = _lower_none
        self.closed = False
        self.busy = False
        self.deleting = False
        self.cuts = 0
        self.writing = trio.Lock()
        self._elapsed = world.clock.elapsed
        self.wall = world.clock.wall
        self.last_sync_ms = self.now_ms()
        self._high_watermark = start_offset
        self.rolling = Rolling(world, directory, segments, unsynced, config)

    # What is there

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.segments.size

    @property
    def high_watermark(self) -> int:
        """Batches below it are committed."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        if not self.start_offset <= offset <= self.end_offset:
            offset = min(max(offset, self.start_offset), self.end_offset)
        self._high_watermark = offset

    @property
    def durable_end(self) -> int:
        """What lies below may be acknowledged: all, but for an append that must be durable first.

        Source: flush.messages; Kafka's append returns after the flush that it makes due.
        """
        return self.end_offset if self.flush_end <= self.recovery_point else self.recovery_point

    def commit_own(self) -> None:
        """Commit all that may be acknowledged: there is no other replica to wait for."""
        recovery_point = self.recovery_point
        end = self.end_offset if self.flush_end <= recovery_point else recovery_point
        if end > self._high_watermark:  # noqa: PLR1730 - max() costs three times as much
            self._high_watermark = end

    @property
    def last_stable_offset(self) -> int:
        """No transaction below it is open."""
        return self.producers.last_stable_offset(self._high_watermark)

    @property
    def leader_epoch(self) -> int:
        """Of the last batch; -1: none."""
        return self.epochs.latest

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """(largest epoch <= `epoch`, where it ended), as OffsetForLeaderEpoch answers; (-1, -1)."""
        return self.epochs.end_offset(epoch, self.end_offset)

    def figures(self) -> Figures:
        """For the tree."""
        return {
            "start": self.start_offset,
            "end": self.end_offset,
            "high_watermark": self._high_watermark,
            "recovery_point": self.recovery_point,
            "durable_end": self.durable_end,
            "segments": len(self.segments),
            "bytes": self.size,
            "producers": len(self.producers),
            "slow": self.pace.slow,
            "failed": str(self.failed) if self.failed else None,
        }

    def now_ms(self) -> int:
        return int(self.wall() * 1000)

    # Appending

    def append_as_leader(
        self,
        records: memoryview,
        headers: Sequence[BatchHeader],
        leader_epoch: int,
        now_ms: int | None = None,
    ) -> Appended:
        """Give batches their offsets and the epoch, in place, and write them.

        records: whole batches, validated, writable; headers: theirs, brought up to date. now_ms:
        the wall clock, by a caller that has just read it.
        Raises KafkaError (nothing was written): MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, and those
        of ProducerState.check; LogDirError.
        """
        header, first = headers[0], self.end_offset
        next_offset = first + header.last_offset_delta + 1
        if (
            header.producer_id < 0
            and len(headers) == 1
            and leader_epoch == self.epochs.latest
            and len(records) <= self.config.plain_bytes
            and next_offset - self.recovery_point < self.config.flush_messages
            and not (self.pace.suspect or self.failed or self.closed or self.busy)
        ):
            # Nearly always: nothing follows from it, unless the segment says otherwise.
            STAMP.pack_into(records, 0, first, header.length, leader_epoch)
            header.base_offset, header.leader_epoch = first, leader_epoch
            elapsed = self._elapsed
            began = elapsed()
            try:
                written = self.segments.active.append_plain(
                    records, header, self.config, self.rolling.jitter_ms
                )
            except OSError as error:
                self.fail(error)
            if written:
                ended = elapsed()
                if ended - began > LONG_APPEND_S:
                    self.pace.held_up(began, ended)
                self.end_offset = next_offset
                return new_appended((first, next_offset - 1, _NO_TIME, self.start_offset, False))
        if now_ms is None:
            now_ms = self.now_ms()
        appended = self.place(records, headers, leader_epoch, now_ms)
        if not appended.duplicate:
            self._write(records, headers, now_ms)
        return appended

    def place(
        self,
        records: memoryview,
        headers: Sequence[BatchHeader],
        leader_epoch: int,
        now_ms: int,
    ) -> Appended:
        """The part of an append that comes before the write: rules, offsets, times."""
        config = self.config
        size = len(records)
        if size > config.max_message_bytes or size > config.segment_bytes:
            check_sizes(size, headers, config)
        append_time = config.message_timestamp_type == "LogAppendTime"
        repeated = None
        if headers[0].producer_id >= 0 or len(headers) > 1:
            repeated = check_producers(headers, self.producers)
        if repeated is not None:
            return Appended(
                repeated.first_offset,
                repeated.last_offset,
                repeated.timestamp,
                self.start_offset,
                duplicate=True,
            )
        first = offset = self.end_offset
        position = 0
        for header in headers:
            STAMP.pack_into(records, position, offset, header.length, leader_epoch)
            header.base_offset = offset
            header.leader_epoch = leader_epoch
            if append_time:
                stamp_append_time(records, position, header, now_ms)
            offset += header.last_offset_delta + 1
            position += header.length + 12
        stamped_ms = now_ms if append_time else _NO_TIME
        return new_appended((first, offset - 1, stamped_ms, self.start_offset, False))

    def append_as_follower(self, records: memoryview, headers: Sequence[BatchHeader]) -> None:
        """Write batches as they are: offsets and epochs are the leader's.

        Raises KafkaError(OFFSET_OUT_OF_RANGE) for offsets that are here already or not ascending,
        RECORD_LIST_TOO_LARGE; LogDirError.
        """
        expected = self.end_offset
        for header in headers:
            if header.base_offset < expected:
                found = f"{self.partition}: batch at {header.base_offset}, want {expected} or more"
                raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, found)
            expected = header.base_offset + header.last_offset_delta + 1
        self._write(records, headers, self.now_ms())

    def _write(self, records: memoryview, headers: Sequence[BatchHeader], now_ms: int) -> None:
        elapsed, pace = self._elapsed, self.pace
        if pace.suspect:
            pace.watch()
        began = elapsed()
        if self.failed or self.closed or self.busy:
            self.refuse()
        try:
            segment = self.segment_for(records, headers, now_ms)
            segment.append(records, headers, self.config.index_interval_bytes)
        except OSError as error:
            self.fail(error)
        ended = elapsed()
        if ended - began > LONG_APPEND_S:
            pace.held_up(began, ended)
        self.wrote(segment, records, headers)

    def segment_for(
        self, records: memoryview, headers: Sequence[BatchHeader], now_ms: int
    ) -> Segment:
        """Where these batches go: a new segment, if one is to begin. OSError."""
        active = self.segments.active
        if active.should_roll(self.config, self.rolling.jitter_ms, now_ms, records, headers):
            return self._begin_segment(headers[0].base_offset, now_ms)
        return active

    def take_over(
        self, segment: Segment, records: memoryview, headers: Sequence[BatchHeader], start: int
    ) -> None:
        """What was written at `start` by other means is appended now, unless the log was closed or
        has failed meanwhile. KafkaError, LogDirError.
        """
        if self.failed or self.closed:
            self.refuse()
        try:
            segment.append(records, headers, self.config.index_interval_bytes, start)
        except OSError as error:
            self.fail(error)
        size = len(records)
        if segment.size - start != size:
            raise InvariantError(f"{self.partition}: {size} bytes grew the file otherwise")
        self.wrote(segment, records, headers)

    def wrote(self, segment: Segment, records: memoryview, headers: Sequence[BatchHeader]) -> None:
        """The part of an append that comes after the write: now the batches are there."""
        position = 0
        for header in headers:
            if header.leader_epoch != self.epochs.latest:
                self.epochs.assign(header.leader_epoch, header.base_offset)
            if header.producer_id >= 0:
                aborted = note_batch(self.producers, header, records, position)
                if aborted is not None:
                    segment.transactions.append(aborted)
            position += header.length + 12
        last = headers[-1]
        next_offset = last.base_offset + last.last_offset_delta + 1
        self.end_offset = next_offset
        unsynced = next_offset - self.recovery_point
        most = self.config.flush_messages
        if unsynced >= most and next_offset - self.flush_end >= most:
            self.flush_end = next_offset
            self.wants_sync(self)

    def roll(self) -> None:
        """Begin a new segment now, unless the active one is empty. LogDirError."""
        if self.failed or self.closed or self.busy:
            self.refuse()
        if self.segments.active.size:
            try:
                self._begin_segment(self.end_offset, self.now_ms())
            except OSError as error:
                self.fail(error)

    def _begin_segment(self, base_offset: int, now_ms: int) -> Segment:
        """A new active segment, unless there is an empty one that begins there. OSError."""
        before = self.segments.active
        segment = self.rolling.begin(base_offset, now_ms, self.config, self.producers)
        if segment is not before:
            self.wants_sync(self)
        return segment

    # Ends

    def set_start_offset(self, offset: int) -> None:
        """Records below `offset` are gone for readers; whole segments go with retention."""
        if offset > self._high_watermark:
            found = f"start offset {offset} above the high watermark {self._high_watermark}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, found)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)

    def abandon(self) -> None:
        """Give back the files without a sync, as after a failure or a deletion. Leases live on."""
        self.closed = True
        for segment in self.segments:
            segment.close()
        self.unsynced.close()

    def fail(self, error: OSError) -> NoReturn:
        """The log, with its directory, cannot be trusted any more."""
        if self.closed and self.failed is None:
            self.refuse()  # its files were taken away: deleted while somebody still read or synced
        if self.failed is None:
            self.failed = LogDirError(self.directory.path, f"{type(error).__name__}: {error}")
            self.on_failure(self.failed)
        raise self.failed from error

    def refuse(self) -> NoReturn:
        """Say why nothing can be done: failed, closed or busy."""
        if self.failed:
            raise LogDirError(self.failed.path, str(self.failed)) from self.failed
        if self.closed:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.partition} is closed")
        raise InvariantError(f"{self.partition}: an append while the log is cut or appended to")


def _nobody(_: object) -> None:
    """Nobody listens."""


async def _lower_none(*_: object) -> None:
    await trio.lowlevel.checkpoint()


def _nothing() -> None:
    """Nothing is to be done."""
