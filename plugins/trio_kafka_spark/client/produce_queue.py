"""Batches of one idempotent producer on their way to partitions. Pure: no socket, no clock.

A partition's batches have ascending sequences. The first is sent alone: a broker that does not know
the producer yet would accept a later one before it. Then up to five are in flight. After a failure
nothing new is sent to that partition until all in flight are answered, then they are sent again in
order. The broker remembers a producer's last five batches of a partition, so one that was appended
before its answer was lost is not appended twice.
Source: KIP-98; TransactionManager and RecordAccumulator of Apache Kafka 4.4.0.
"""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition

MOST_IN_FLIGHT: Final = 5  # batches of a producer that a broker remembers for a partition
_SEQUENCES: Final = 1 << 31


@define(kw_only=True, order=False, eq=False)
class Batch:
    """One encoded batch. `number` is its place in the order of its partition."""

    where: TopicPartition
    data: bytes = field(repr=False)
    count: int
    sequence: int
    number: int
    expires_s: float
    attempts: int = 0

    def __lt__(self, other: "Batch") -> bool:
        return self.number < other.number


@define(kw_only=True)
class Queue:
    """Batches of one partition."""

    where: TopicPartition
    most_in_flight: int = MOST_IN_FLIGHT
    waiting: deque[Batch] = field(factory=deque)
    in_flight: deque[Batch] = field(factory=deque)
    next_sequence: int = 0
    next_number: int = 0
    last_offset: int = -1
    is_known: bool = False  # the leader has appended a batch of this producer
    recovering: bool = False
    retry_at_s: float = 0.0

    def add(self, data: bytes, count: int, expires_s: float) -> Batch:
        """Append a batch, which was encoded with `next_sequence`."""
        batch = Batch(
            where=self.where,
            data=data,
            count=count,
            sequence=self.next_sequence,
            number=self.next_number,
            expires_s=expires_s,
        )
        self.waiting.append(batch)
        self.next_number += _SEQUENCES  # gaps, for the parts of a batch that is split
        self.next_sequence = (self.next_sequence + count) % _SEQUENCES
        return batch

    def may_send(self, now_s: float) -> bool:
        """True if the first waiting batch can be sent now."""
        if not self.waiting or now_s < self.retry_at_s:
            return False
        pipelined = self.is_known and not self.recovering
        most = self.most_in_flight if pipelined else 1
        return len(self.in_flight) < most

    def send(self) -> Batch:
        """Return the batch to send now; it is in flight from now on."""
        if not self.in_flight:
            self.recovering = False
        batch = self.waiting.popleft()
        batch.attempts += 1
        self.in_flight.append(batch)
        return batch

    def written(self, batch: Batch, offset: int) -> None:
        """Note a batch that its leader has appended. offset: of its first record; -1: unknown."""
        self.in_flight.remove(batch)
        self.is_known = True
        if offset >= 0:
            self.last_offset = max(self.last_offset, offset + batch.count - 1)

    def again(self, batch: Batch, at_s: float) -> None:
        """Send a batch once more, no earlier than `at_s`, and before those that follow it."""
        self.in_flight.remove(batch)
        insort(self.waiting, batch)
        self.recovering = True
        self.retry_at_s = max(self.retry_at_s, at_s)

    def delay(self, at_s: float) -> None:
        """Send nothing to this partition before `at_s`."""
        self.retry_at_s = max(self.retry_at_s, at_s)

    def split(self, batch: Batch, parts: Iterable[tuple[bytes, int]]) -> None:
        """Replace a batch that was too large by smaller ones of the same records, in order."""
        self.in_flight.remove(batch)
        step, sequence = 0, batch.sequence
        for data, count in parts:
            part = Batch(
                where=self.where,
                data=data,
                count=count,
                sequence=sequence,
                number=batch.number + step,
                expires_s=batch.expires_s,
                attempts=batch.attempts,
            )
            insort(self.waiting, part)
            step += count  # as many numbers as records: the parts may be split again
            sequence = (sequence + count) % _SEQUENCES
        self.recovering = True

    def answer(self, batch: Batch, code: ErrorCode, offset: int, *, retry_at_s: float) -> bool:
        """Take the leader's answer to a batch; False: it failed for good, or has to be split."""
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self.written(batch, offset)
            return True
        if code.retriable or self._follows_a_failure(batch, code):
            self.again(batch, retry_at_s)
            return True
        return False

    def _follows_a_failure(self, batch: Batch, code: ErrorCode) -> bool:
        """True if the leader rejects a batch only because one before it was not appended."""
        before = any(earlier.number < batch.number for earlier in self.waiting)
        return code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and before


@define
class Queues:
    """The queues of all partitions, and the bytes that they hold."""

    most_in_flight: int = MOST_IN_FLIGHT
    queues: dict[TopicPartition, Queue] = field(factory=dict)

    def __getitem__(self, where: TopicPartition) -> Queue:
        queue = self.queues.get(where)
        if queue is None:
            queue = self.queues[where] = Queue(where=where, most_in_flight=self.most_in_flight)
        return queue

    def __iter__(self) -> Iterator[Queue]:
        return iter(self.queues.values())

    @property
    def held_bytes(self) -> int:
        """Bytes of all batches that are not written yet."""
        return sum(
            len(batch.data)
            for queue in self
            for batches in (queue.waiting, queue.in_flight)
            for batch in batches
        )

    @property
    def is_empty(self) -> bool:
        return not any(queue.waiting or queue.in_flight for queue in self)

    def next_retry_s(self, default: float) -> float:
        """Earliest time at which a queue in back-off may send again."""
        times = [queue.retry_at_s for queue in self if queue.waiting]
        return min(times, default=default)

    def extend_waiting(self, away_s: float, *, until_s: float) -> None:
        """Extend the expiry of batches that are not in flight by a time in which none was sent.

        until_s: the latest expiry, which is that of a batch added now.
        """
        for queue in self:
            for batch in queue.waiting:
                batch.expires_s = min(batch.expires_s + away_s, until_s)

    def expired(self, now_s: float) -> Batch | None:
        """Return a batch that was not written in time."""
        for queue in self:
            for batches in (queue.in_flight, queue.waiting):
                for batch in batches:
                    if batch.expires_s <= now_s:
                        return batch
        return None

    def request(
        self, wheres: Iterable[TopicPartition], now_s: float, max_bytes: int
    ) -> list[Batch]:
        """Return the batches of the next request to one leader: at most one of each partition.

        Together they have at most `max_bytes`, but a single one may have more.
        """
        chosen: list[Batch] = []
        size = 0
        for where in wheres:
            queue = self.queues.get(where)
            if queue is None or not queue.may_send(now_s):
                continue
            more = len(queue.waiting[0].data)
            if chosen and size + more > max_bytes:
                continue
            size += more
            chosen.append(queue.send())
        return chosen

    def last_offsets(self) -> dict[TopicPartition, int]:
        """Return the last offset written in each partition, where the broker returned it."""
        return {queue.where: queue.last_offset for queue in self if queue.last_offset >= 0}
