"""The whole of one Fetch: which partitions give how many bytes, and whether to answer now or wait.

Reads in the order of the session; the first partition that has something gives at least one batch,
whatever the limits say, so that a client always gets on. Answers at once when there are
`min_bytes`, an error, or a diverging epoch; else parks, holds nothing, and looks at partitions as
they are marked. Values in and out: the handler makes messages of them.
Source: KIP-74 (limits and order), KIP-227 (sessions), KIP-320.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import define, field, frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import NodeId
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.read import Isolation, PartitionRead, around, read, visible_end
from trio_kafka.replication.sessions import FetchKey, Session, SessionPartition

Reads = list[tuple[SessionPartition, PartitionRead]]
_DUPLICATE: Final = "another poll of this session came in between"


@frozen(kw_only=True)
class FetchLimits:
    """What a request allows. may_wait: its deadline is not now. follower: the broker that asks, if
    one does.
    """

    min_bytes: int = 1
    max_bytes: int = (1 << 31) - 1
    isolation: Isolation = Isolation.READ_UNCOMMITTED
    may_wait: bool = True
    follower: NodeId | None = None


@define(kw_only=True)
class FetchAnswer:
    """session_id: 0 for none. error: of the whole request, which has no parts then."""

    session_id: int
    parts: Reads = field(factory=list)
    error: KafkaError | None = None

    @property
    def size(self) -> int:
        """Bytes of records."""
        return sum(read.size for _, read in self.parts)

    def release(self) -> None:
        """Give up all bytes: the answer will not be sent."""
        for _, part in self.parts:
            part.release()


class Fetch:
    """One request. `cold`: what `read` could not find without waiting; `ready`: where somebody has,
    put here.
    """

    __slots__ = (
        "_available",
        "_epoch",
        "_first",
        "_full",
        "_limits",
        "_resolve",
        "cold",
        "ready",
        "session",
        "taken",
    )

    def __init__(
        self,
        session: Session,
        limits: FetchLimits,
        resolve: Callable[[FetchKey], Partition],
        *,
        full: bool,
    ) -> None:
        """resolve: gives the partition behind a key, for this client; raises KafkaError. full:
        names all partitions.
        """
        self.session = session
        self.cold: dict[SessionPartition, Partition] = {}
        self.ready: dict[SessionPartition, PartitionRead] = {}
        self.taken = trio.Event()
        self._limits = limits
        self._resolve = resolve
        self._full = full
        self._epoch = session.epoch
        self._first = True
        self._available: dict[SessionPartition, int] = {}

    @property
    def limits(self) -> FetchLimits:
        return self._limits

    @property
    def keys(self) -> list[Partition]:
        """What a waiting request watches by itself: nothing where its session does."""
        if self.session.id:
            return []
        watched = []
        for partition in self.session.partitions:
            try:
                watched.append(self._resolve(partition))
            except KafkaError:
                continue
        return watched

    def look(self) -> FetchAnswer | None:
        """The answer, or None.

        Park this fetch and call `try_complete` on a mark or at its deadline.
        """
        reads = self._read_all()
        limits = self._limits
        # What is cold is worth a short wait to any client: without it, it would never get on.
        may_wait = (limits.may_wait or self.cold) and self.session.partitions
        if not may_wait or self._are_enough(reads):
            return self._answer(reads)
        self.session.fresh.clear()
        for partition, part in reads:
            self._available[partition] = part.size
            part.release()
        return None

    def try_complete(self, timed_out: bool) -> FetchAnswer | None:
        """As `look`; always an answer when timed out."""
        if self.session.epoch != self._epoch:
            self._take_ready()
            error = KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, _DUPLICATE)
            return FetchAnswer(session_id=self.session.id, error=error)
        if not timed_out and not self.ready and not self._is_ripe():
            return None
        return self._answer(self._read_all())

    def _are_enough(self, reads: Reads) -> bool:
        size = 0
        for _, part in reads:
            if part.error is not None or part.diverging is not None:
                return True
            size += part.size
        return size >= self._minimum

    @property
    def _minimum(self) -> int:
        """min_bytes, but something where there is something cold: 0 would be content without."""
        return max(self._limits.min_bytes, 1) if self.cold else self._limits.min_bytes

    def _is_ripe(self) -> bool:
        """Whether reading is worth while, after marks. Looks at marked partitions only."""
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

    def _visible_bytes(self, asked: SessionPartition) -> int | None:
        """Bytes that a read would give; None: whatever it gives must be told. KafkaError."""
        limits, wanted = self._limits, asked.wanted
        partition = self._resolve(asked.key)
        if limits.min_bytes <= 1 and wanted.last_fetched_epoch < 0:
            log = partition.local_log(wanted.leader_epoch)
            ahead = visible_end(log, limits.isolation) - wanted.offset
            return None if wanted.offset > log.end_offset else max(min(ahead, 1), 0)
        try:
            found = read(partition, wanted, wanted.max_bytes, limits.isolation, at_least_one=True)
        except BlockingIOError:
            return None
        size = None if found.diverging else found.size
        found.release()
        return size

    def _read_all(self) -> Reads:
        """Read every dirty partition within the limits of the request."""
        left = self._limits.max_bytes
        at_least_one = True
        ready = self._take_ready(keep=True)
        reads: Reads = []
        try:
            for asked in list(self.session.dirty):
                part = self._read(asked, left, ready.pop(asked, None), at_least_one=at_least_one)
                reads.append((asked, part))
                if part.size:
                    at_least_one = False
                    left = max(left - part.size, 0)
        except BaseException:
            for _, part in reads:
                part.release()
            raise
        finally:
            for unused in ready.values():
                unused.release()
        self._first = False
        return reads

    def _read(
        self,
        asked: SessionPartition,
        left: int,
        ready: PartitionRead | None,
        *,
        at_least_one: bool,
    ) -> PartitionRead:
        wanted = asked.wanted
        try:
            partition = self._find(asked)
            if ready is not None:
                return _fit(ready, left, at_least_one=at_least_one)
            follower = self._limits.follower
            if follower is not None:
                partition.check_replica(follower)
            part = self._read_warm(asked, partition, min(wanted.max_bytes, left), at_least_one)
            if follower is not None and self._first and part.diverging is None:
                partition.follower_fetched(follower, wanted.offset)
        except KafkaError as error:
            if ready is not None:
                ready.release()
            return PartitionRead(error=error)
        return part

    def _find(self, asked: SessionPartition) -> Partition:
        """The partition now; it may be another one than at the last poll."""
        partition = None
        try:
            partition = self._resolve(asked.key)
        finally:
            if self.session.id:
                self.session.watch(asked, partition)
        return partition

    def _read_warm(
        self, asked: SessionPartition, partition: Partition, most: int, at_least_one: bool
    ) -> PartitionRead:
        isolation = self._limits.isolation
        try:
            return read(partition, asked.wanted, most, isolation, at_least_one=at_least_one)
        except BlockingIOError:
            if self._first:
                self.cold[asked] = partition
            part = around(partition.local_log())
            part.more = True
            return part

    def _take_ready(self, *, keep: bool = False) -> dict[SessionPartition, PartitionRead]:
        ready, self.ready = self.ready, {}
        if ready:
            self.taken.set()
        if keep:
            return ready
        for part in ready.values():
            part.release()
        return {}

    def _answer(self, reads: Reads) -> FetchAnswer:
        session = self.session
        session.fresh.clear()
        return FetchAnswer(session_id=session.id, parts=session.answer(reads, full=self._full))


def _fit(part: PartitionRead, left: int, *, at_least_one: bool) -> PartitionRead:
    """A part that was read on its own, if it still has room in the answer."""
    if part.size > left and not at_least_one:
        part.release()
    return part
