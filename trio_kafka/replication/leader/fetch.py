"""One Fetch: how many bytes each partition gives, and whether to answer now or wait.

Theory of operation. `look` reads the dirty partitions of the session, in its order, each within
what the limits leave. A read promises bytes of a file (a lease) and copies none. The first
partition with data gives at least one batch, whatever the limits, so that a client always makes
progress.
With `min_bytes`, an error or a diverging epoch the reads are the answer. Otherwise their leases are
released and the fetch is parked: it holds only how many bytes each partition had.
A mark of a partition adds it to the session's `fresh`. `is_due` counts the bytes of these again,
without reading them, and says whether `complete` may read once more and answer; at the deadline it
answers whatever there is. A partition that is not in memory is left to `cold_reads`, once, which
fills `ready` and marks the fetch. The session notes what was sent: what gave bytes comes last next
time, what gave nothing is clean until its next mark. A newer poll of the session, or the end of the
session, makes a fetch in flight stop reading and answer with an error.
Source: KIP-74 (limits and order), KIP-227 (sessions), KIP-320.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.waits import Wait
from trio_kafka.model import NodeId
from trio_kafka.records.file_range import FileRange
from trio_kafka.replication.leader.fetch_waits import fetch_wait
from trio_kafka.replication.leader.read import (
    Isolation,
    PartitionRead,
    around,
    isolation_of,
    read,
    visible_end,
)
from trio_kafka.replication.leader.sessions import NO_SESSION, FetchKey, Session, SessionPartition
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.topic_metrics import TopicMetrics
from trio_kafka.scheduling.chunked_work import Steps

# Reads by key, as they are answered, and by partition of the session.
Reads = list[tuple[FetchKey, PartitionRead]]
SessionReads = list[tuple[SessionPartition, PartitionRead]]
WIDE: Final = 200  # partitions to read: more than 2 ms
WIDE_BESIDE: Final = 32  # with a bound yield point: 0.3 ms
_STEP: Final = 16
# Approximate bytes of a response besides the records.
HEAD_SIZE: Final = 20
TOPIC_SIZE: Final = 18
PARTITION_SIZE: Final = 40
_DUPLICATE: Final = "another poll of this session came in between"
_CLOSED: Final = "the session was closed during this fetch, begin a new one"


@define  # neither frozen nor keyword-only, either of which triples the time to make one
class FetchLimits:
    """Limits of a request; never changed.

    max_wait_s: time until the deadline. follower: the broker that fetches, if one does.
    admit: called once with the bytes to be sent; returns how many ms to wait instead.
    """

    min_bytes: int = 1
    max_bytes: int = (1 << 31) - 1
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    max_wait_s: float = 5.0
    follower: NodeId | None = None
    admit: Callable[[int], int] | None = None


def limits_of(
    min_bytes: int,
    max_bytes: int,
    isolation_level: int,
    *,
    max_wait_s: float,
    replica: int,
    admit: Callable[[int], int] | None,
) -> FetchLimits:
    """Return the limits of a request. replica: the broker that fetches; -1: a consumer.

    Raises KafkaError as `isolation_of`.
    """
    isolation, min_bytes = isolation_of(isolation_level), min(min_bytes, max_bytes)
    if replica < 0:
        return FetchLimits(min_bytes, max_bytes, isolation, max_wait_s, None, admit)
    follower = NodeId(replica)
    return FetchLimits(min_bytes, max_bytes, Isolation.LOG_END, max_wait_s, follower, admit)


@define
class FetchAnswer:
    """Answer of a Fetch. session_id: 0 for none. error: of the whole request; then it has no parts.

    throttled_ms: the client must wait first, so there are no parts.
    """

    session_id: int
    parts: Reads = field(factory=list)
    error: KafkaError | None = field(default=None, kw_only=True)
    throttled_ms: int = field(default=0, kw_only=True)

    @property
    def size(self) -> int:
        """Bytes of records."""
        return sum(read.size for _, read in self.parts)

    def release(self) -> None:
        """Release all bytes, as the answer is not sent."""
        for _, part in self.parts:
            part.release()


@define(eq=False)
class Fetch:
    """One request.

    resolve: returns the partition of a key for this client, or raises KafkaError.
    full: the answer names all partitions.
    wide: number of partitions above which it works in steps.
    cold: partitions that `read` could not read without a wait.
    ready: their reads, added by `cold_reads`.
    taken: set when `ready` was taken, for the tasks that filled it.
    """

    session: Session
    limits: FetchLimits
    _resolve: Callable[[FetchKey], Partition]
    _full: bool = field(kw_only=True)
    _wide: int = field(default=WIDE, kw_only=True)
    cold: dict[SessionPartition, Partition] = field(factory=dict, init=False)
    ready: dict[SessionPartition, PartitionRead] = field(factory=dict, init=False)
    taken: trio.Event | None = field(default=None, init=False)
    _epoch: int = field(init=False)
    _first: bool = field(default=True, init=False)
    _size: int = field(default=0, init=False)  # of the last reads
    # Reads of consumers, each with the metrics that count it when it is sent.
    _served: list[tuple[TopicMetrics, FileRange]] = field(factory=list, init=False)
    _urgent: bool = field(default=False, init=False)  # there is an error or a diverging epoch
    _available: dict[SessionPartition, int] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._epoch = self.session.epoch

    @property
    def keys(self) -> list[Partition]:
        """Partitions to watch while parked; none if the session watches them."""
        if self.session.id:
            return []
        watched = []
        for partition in self.session.partitions:
            try:
                watched.append(self._resolve(partition))
            except KafkaError:
                continue
        return watched

    @property
    def is_wide(self) -> bool:
        """True if a read takes long: let others run between its steps."""
        return len(self.session.dirty) > self._wide or bool(self.session.rest)

    def look(self) -> Steps[FetchAnswer | None]:
        """Read in steps. Return the answer, or None.

        With None, park this fetch, and call `complete` when it `is_due` after a mark or at its
        deadline. Changes between two steps mark nothing: check once more after parking.
        """
        if self.session.rest:
            yield from self.session.take_rest()
        reads = yield from self._reading()
        try:
            return self._judge(reads)
        except BaseException:
            _release(reads)
            raise

    def _judge(self, reads: SessionReads) -> FetchAnswer | None:
        if self._urgent or self._size >= self._minimum or self._is_overtaken:
            return self._answer(reads)
        # A cold partition justifies a short wait: without it a client would never make progress.
        if not (self.limits.max_wait_s > 0 or self.cold) or not self.session.partitions:
            return self._answer(reads)
        for partition, part in reads:
            self._available[partition] = part.size
            part.release()
        return None

    def is_due(self, timed_out: bool) -> bool:
        """Return whether to complete the fetch now, after a mark or at its deadline."""
        return timed_out or self._is_overtaken or bool(self.ready) or self._is_ripe()

    def complete(self) -> Steps[FetchAnswer]:
        """Read in steps and answer unconditionally."""
        reads = yield from self._reading()
        try:
            return self._answer(reads)
        except BaseException:
            _release(reads)
            raise

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        del now
        keys = self.session.partitions
        cold = [member.key for member in self.cold if member not in self.ready]
        return (
            fetch_wait(
                cold or keys,
                len(cold or keys),
                resolve=self._resolve,
                has=None if cold else sum(self._available.values()),
                needs=self._minimum,
                follower=self.limits.follower,
            ),
        )

    @property
    def _is_overtaken(self) -> bool:
        """True if the session has had another poll since this one began, or is closed."""
        return self.session.epoch != self._epoch

    @property
    def _minimum(self) -> int:
        """Bytes that make an answer: min_bytes, at least 1 if a partition is cold."""
        return max(self.limits.min_bytes, 1) if self.cold else self.limits.min_bytes

    def _is_ripe(self) -> bool:
        """Return whether marked partitions have enough bytes, or something to report."""
        session = self.session
        marked = list(session.fresh if session.id else session.dirty)
        session.fresh.clear()
        for partition in marked:
            try:
                size = self._visible_bytes(partition)
            except KafkaError:
                return True
            if size is None:
                return True
            self._available[partition] = size
        return sum(self._available.values()) >= self._minimum

    def _visible_bytes(self, member: SessionPartition) -> int | None:
        """Return the bytes that a read would give; None: it would report something else.
        KafkaError.
        """
        limits, request = self.limits, member.request
        partition = self._resolve(member.key)
        if limits.min_bytes <= 1 and request.last_fetched_epoch < 0:
            log = partition.local_log(request.leader_epoch)
            ahead = visible_end(log, limits.isolation) - request.offset
            return None if request.offset > log.end_offset else max(min(ahead, 1), 0)
        try:
            visible = read(
                partition, request, request.max_bytes, limits.isolation, at_least_one=True
            )
        except BlockingIOError:
            return None
        size = None if visible.diverging else visible.size
        visible.release()
        return size

    def _reading(self) -> Steps[SessionReads]:
        """Read every dirty partition within the limits of the request; pauses now and then."""
        room = self.limits.max_bytes
        size = 0
        self.session.fresh.clear()
        urgent = False
        ready = self._take_ready() if self.ready else {}
        reads: SessionReads = []
        self._served = []
        try:
            for number, member in enumerate(tuple(self.session.dirty), start=1):
                if not number % _STEP:
                    yield
                    if self._is_overtaken:  # partitions may be forgotten, and the answer is decided
                        break
                # `ready` owns its reads until they are among `reads`.
                part = self._read(member, room, ready.get(member), at_least_one=not size)
                reads.append((member, part))
                ready.pop(member, None)
                file_range = part.range
                if file_range is not None:
                    size += file_range.remaining
                    room = max(room - file_range.remaining, 0)
                elif part.error is not None or part.diverging is not None:
                    urgent = True
        except BaseException:
            _release(reads)
            raise
        finally:
            for unused in ready.values():
                unused.release()
        self._first = False
        self._size = size
        self._urgent = urgent
        return reads

    def _read(
        self,
        member: SessionPartition,
        room: int,
        ready: PartitionRead | None,
        *,
        at_least_one: bool,
    ) -> PartitionRead:
        request, limits = member.request, self.limits
        partition = None
        try:
            try:
                partition = self._resolve(member.key)
            finally:
                if self.session.id:  # the partition may have changed since the last poll
                    self.session.watch(member, partition)
            metrics = partition.topic_metrics
            metrics.fetches += 1
            if ready is not None:
                part = _fit(ready, room, at_least_one=at_least_one)
                if part.range is not None:
                    self._served.append((metrics, part.range))
                return part
            follower = limits.follower
            if follower is not None:
                partition.check_replica(follower)
            most = min(request.max_bytes, room)
            try:
                part = read(partition, request, most, limits.isolation, at_least_one=at_least_one)
            except BlockingIOError:
                part = self._postpone(member, partition)
            if follower is not None and self._first and part.diverging is None:
                partition.follower_fetched(follower, request.offset, request.log_start_offset)
        except KafkaError as error:
            if ready is not None:
                ready.release()
            if partition is not None:
                partition.topic_metrics.count_failed_fetch(error.code)
            return PartitionRead(error=error.as_value())
        if follower is None and part.range is not None:
            self._served.append((metrics, part.range))
        return part

    def _postpone(self, member: SessionPartition, partition: Partition) -> PartitionRead:
        """Leave a cold partition to `cold_reads`, once."""
        if self._first:
            self.cold[member] = partition
        part = around(partition.local_log())
        part.more = True
        return part

    def _take_ready(self) -> dict[SessionPartition, PartitionRead]:
        ready, self.ready = self.ready, {}
        if ready and self.taken is not None:
            self.taken.set()
        return ready

    def _answer(self, reads: SessionReads) -> FetchAnswer:
        session = self.session
        if session.id and self._is_overtaken:
            _release(reads)
            if session.closed:
                error = KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, _CLOSED)
                return FetchAnswer(session_id=NO_SESSION, error=error)
            error = KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, _DUPLICATE)
            return FetchAnswer(session_id=session.id, error=error)
        admit = self.limits.admit
        if admit is not None and (throttled_ms := admit(_response_size(reads))):
            _release(reads)
            # Nothing is sent: an existing session stays as it was, a new one is not begun.
            if self._full:
                session.end()
            going_on = NO_SESSION if self._full else session.id
            return FetchAnswer(session_id=going_on, throttled_ms=throttled_ms)
        for metrics, answered in self._served:
            metrics.bytes_out += answered.remaining
        if not session.id:  # nothing is remembered, everything is sent
            return FetchAnswer(session_id=NO_SESSION, parts=_by_key(reads))
        news = session.answer(reads, full=self._full)
        return FetchAnswer(session_id=session.id, parts=_by_key(news))


def _response_size(reads: SessionReads) -> int:
    """Return the approximate bytes of a response, which quotas count."""
    topics = len({member.key[0] for member, _ in reads})
    records = sum(read.size for _, read in reads)
    return HEAD_SIZE + topics * TOPIC_SIZE + len(reads) * PARTITION_SIZE + records


def _release(reads: SessionReads) -> None:
    """Release the bytes of reads that are not sent."""
    for _, part in reads:
        part.release()


def _by_key(reads: SessionReads) -> Reads:
    return [(member.key, part) for member, part in reads]


def _fit(part: PartitionRead, room: int, *, at_least_one: bool) -> PartitionRead:
    """Release a read that was made on its own if the answer has no room for it."""
    if part.size > room and not at_least_one:
        part.release()
    return part
