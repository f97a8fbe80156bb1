"""Batches of all partitions: records come in, batches go out by broker. Does no I/O.

A batch is due when it is full, when its first record is as old as `linger.ms`, and as soon as
records wait for memory or a flush waits for batches. A batch that is retried is due after its
back-off. A request takes one batch of each partition in turn, and begins with the partition whose
last turn is the longest ago, so that none starves whichever others come and go.
Source: RecordAccumulator of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.errors import ClientError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.buffer_pool import BufferPool
from trio_kafka.clients.producer.columns import RecordColumns
from trio_kafka.clients.producer.compression import CompressionRatios
from trio_kafka.clients.producer.partition_queue import PartitionQueue
from trio_kafka.clients.producer.sequences import Identities, PartitionSequences
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE

_NEVER: Final = float("inf")


def _always(place: TopicPartition) -> bool:  # noqa: ARG001 - the place of a test
    return True


@frozen(kw_only=True)
class BatchLimits:
    """Settings of batches. expires_s: `delivery.timeout.ms`. in_turn: one in flight a partition.

    attributes: of each header, besides the codec.
    """

    size: int
    linger_s: float
    expires_s: float
    codec: Codec = Codec.NONE
    level: int | None = None
    in_turn: bool = False
    attributes: int = 0


@frozen(kw_only=True)
class ReadyPartitions:
    """Result of a look. by_node: partitions that may be sent, of nodes with one that is due.

    leaderless: topics with due batches and without a known leader. next_look: time at which a
    batch will be due, or its time be over.
    """

    by_node: dict[int, list[PartitionQueue]]
    leaderless: set[str]
    next_look: float


@define(eq=False, kw_only=True)
class Accumulator:
    """Queues of all partitions.

    pool: memory of the batches, given back at their ends. identities: None without idempotence.
    admits: returns whether batches may be sent to a partition now.
    watchers: called with each batch that has ended. is_closing: all batches are due.
    flushes: calls that wait for all batches.
    """

    limits: BatchLimits
    pool: BufferPool
    identities: Identities | None
    admits: Callable[[TopicPartition], bool] = _always
    watchers: list[Callable[[ProducerBatch], None]] = field(factory=list, init=False)
    is_closing: bool = field(default=False, init=False)
    flushes: int = field(default=0, init=False)
    ratios: CompressionRatios = field(factory=CompressionRatios, init=False)
    _is_plain: bool = field(init=False)
    _room: int = field(init=False)  # for encoded records: Kafka counts the header in `batch.size`
    _queues: dict[str, dict[int, PartitionQueue]] = field(factory=dict, init=False)
    _active: dict[TopicPartition, PartitionQueue] = field(factory=dict, init=False)
    _turn: int = field(default=0, init=False)
    _count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._is_plain = self.limits.codec is Codec.NONE
        self._room = self.limits.size - HEADER_SIZE

    # --- records come in

    def queue_of(self, topic: str, partition: int) -> PartitionQueue:
        """Return the queue of a partition."""
        queues = self._queues.get(topic)
        if queues is None:
            queues = self._queues[topic] = {}
        queue = queues.get(partition)
        if queue is None:
            sequences = None if self.identities is None else PartitionSequences(self.identities)
            queue = queues[partition] = PartitionQueue(
                place=TopicPartition(topic, partition),
                sequences=sequences,
                in_turn=self.limits.in_turn,
            )
        return queue

    def add(
        self, queue: PartitionQueue, record: Record, size: int, now: float
    ) -> tuple[ProducerBatch, int]:
        """Add a record, whose memory is taken; return its batch, and its number in the batch.

        size: bound of its encoded size. The number 0 says that the batch is new.
        """
        scale = 1.0 if self._is_plain else self.ratios.scale(queue.place.topic)
        batch = queue.waiting[-1] if queue.waiting else None
        if batch is None or batch.is_full or batch.size * scale + size > self._room:
            batch = self._next_batch(queue, now)
        number = batch.add(record, size)
        batch.is_full = batch.size * scale >= self._room
        return batch, number

    def add_many(
        self, queue: PartitionQueue, columns: RecordColumns, at: int, now: float
    ) -> tuple[ProducerBatch, int, int]:
        """Add records from the one at `at` on, as many as the batch of the partition takes.

        Their memory is taken. Returns the batch, the number of the first record in it, and how many
        it has taken, at least one; it is full if there are more.
        """
        scale = 1.0 if self._is_plain else self.ratios.scale(queue.place.topic)
        most = self._room / scale
        batch = queue.waiting[-1] if queue.waiting else None
        count = 0
        if batch is not None and not batch.is_full:
            count = columns.fitting(at, most - batch.size)
        if batch is None or not count:
            batch = self._next_batch(queue, now)
            count = max(columns.fitting(at, most), 1)
        end = at + count
        number = batch.add_many(
            columns.values[at:end],
            None if columns.keys is None else columns.keys[at:end],
            columns.timestamp_ms,
            columns.size(at, end),
        )
        batch.is_full = end < len(columns.values) or batch.size >= most
        return batch, number, count

    # --- batches go out

    def look(self, now: float, leader_of: Callable[[str, int], int | None]) -> ReadyPartitions:
        """Find out which partitions can be sent to which nodes. leader_of: None: not known."""
        by_node: dict[int, list[PartitionQueue]] = {}
        due: set[int] = set()
        leaderless: set[str] = set()
        next_look = _NEVER
        is_urgent = bool(self.is_closing or self.flushes or self.pool.waiting)
        for place, queue in self._active.items():
            next_look = min(next_look, queue.next_expiry())
            batch = queue.next_batch()
            if batch is None:
                continue
            if batch.attempts and batch.not_before > now:
                next_look = min(next_look, batch.not_before)
                continue
            due_at = self._due_at(queue, batch, is_urgent=is_urgent)
            if due_at <= now and not self.admits(place):
                continue
            node = leader_of(place.topic, place.partition)
            if node is None:
                if due_at <= now:
                    leaderless.add(place.topic)
                else:
                    next_look = min(next_look, due_at)
                continue
            by_node.setdefault(node, []).append(queue)
            if due_at <= now:
                due.add(node)
            else:
                next_look = min(next_look, due_at)
        ready = {node: queues for node, queues in by_node.items() if node in due}
        return ReadyPartitions(by_node=ready, leaderless=leaderless, next_look=next_look)

    def drain(self, queues: Sequence[PartitionQueue], largest: int) -> list[ProducerBatch]:
        """Take batches for one request of about `largest` bytes, at least one."""
        self._turn += 1
        batches: list[ProducerBatch] = []
        total = 0
        for queue in sorted(queues, key=lambda queue: queue.turn):
            batch = queue.next_batch()
            if batch is None or not self.admits(queue.place):
                continue
            total += batch.encoded_size
            if batches and total > largest:
                break
            queue.take(batch)
            queue.turn = self._turn
            batches.append(batch)
        return batches

    def close_batch(self, batch: ProducerBatch) -> bytearray:
        """Encode a batch that was taken, unless it is encoded. May run in a thread."""
        if batch.data is not None:
            return batch.data
        limits = self.limits
        data = batch.close(limits.codec, limits.level, limits.attributes)
        if self.limits.codec is not Codec.NONE:
            self.ratios.compressed(batch.place.topic, batch.size, len(data) - HEADER_SIZE)
        return data

    # --- ends of attempts

    def landed(self, batch: ProducerBatch) -> bool:
        """Note the end of an attempt; return False for a batch whose time was over before."""
        self._queue(batch).landed(batch)
        if batch.outcome is None:
            return True
        self._release(batch)
        return False

    def finish(self, batch: ProducerBatch, outcome: Stored | Failed) -> None:
        """Set the outcome of a batch, which may still be in flight."""
        queue = self._queue(batch)
        if queue.sequences is not None:
            if isinstance(outcome, Stored):
                queue.sequences.stored(batch)
            else:
                queue.sequences.failed(batch)
        if not batch.in_flight and batch in queue.waiting:
            queue.waiting.remove(batch)
        batch.finish(outcome)
        if not batch.in_flight:
            self._release(batch)
        for watcher in self.watchers:
            watcher(batch)

    def retry(self, batch: ProducerBatch, not_before: float) -> None:
        """Let a batch wait for its next attempt."""
        batch.not_before = not_before
        self._queue(batch).put_back(batch)

    def split(self, batch: ProducerBatch, now: float) -> None:
        """Replace a batch by smaller ones."""
        queue = self._queue(batch)
        parts = batch.split(self._room, now)
        self.ratios.too_large(batch.place.topic)
        if queue.sequences is not None:
            queue.sequences.split(batch)
        queue.put_back(*parts)

    def sequences_of(self, batch: ProducerBatch) -> PartitionSequences | None:
        """Return the sequence numbers of a batch's partition; None without idempotence."""
        return self._queue(batch).sequences

    def expired(self, now: float) -> list[ProducerBatch]:
        """Return the batches whose time is over, without an outcome."""
        return [batch for queue in self._active.values() for batch in queue.expired(now)]

    def fail_waiting(self, error_of: Callable[[ProducerBatch], ClientError]) -> None:
        """Fail the batches that are not in flight."""
        for batch in [batch for batch in self.incomplete() if not batch.in_flight]:
            self.finish(batch, Failed(error=error_of(batch)))

    def fail_all(self, error_of: Callable[[ProducerBatch], ClientError]) -> None:
        """Fail all batches, those in flight too."""
        for batch in list(self.incomplete()):
            self.finish(batch, Failed(error=error_of(batch)))

    def incomplete(self) -> Iterator[ProducerBatch]:
        """Yield the batches without an outcome."""
        for queue in self._active.values():
            for batch in (*queue.in_flight, *queue.waiting):
                if batch.outcome is None:
                    yield batch

    @property
    def is_active(self) -> bool:
        """True if there are batches."""
        return bool(self._active)

    def queued(self, topic: str, partition: int) -> int:
        """Return how many batches of a partition wait."""
        queue = self._active.get(TopicPartition(topic, partition))
        return 0 if queue is None else len(queue.waiting)

    def counts(self) -> tuple[int, int]:
        """Return how many batches wait, and how many are in flight."""
        queues = self._active.values()
        return (
            sum(len(queue.waiting) for queue in queues),
            sum(len(queue.in_flight) for queue in queues),
        )

    def _next_batch(self, queue: PartitionQueue, now: float) -> ProducerBatch:
        """Begin a batch at the end of a queue: the one before it takes no more records."""
        if queue.waiting:
            queue.waiting[-1].is_full = True
        self._active[queue.place] = queue
        self._count += 1
        batch = ProducerBatch(
            place=queue.place,
            order=(self._count,),
            created=now,
            expires=now + self.limits.expires_s,
        )
        queue.waiting.append(batch)
        return batch

    def _queue(self, batch: ProducerBatch) -> PartitionQueue:
        return self._queues[batch.place.topic][batch.place.partition]

    def _due_at(self, queue: PartitionQueue, batch: ProducerBatch, *, is_urgent: bool) -> float:
        if batch.attempts or batch.is_full or is_urgent or len(queue.waiting) > 1:
            return batch.created
        return batch.created + self.limits.linger_s

    def _release(self, batch: ProducerBatch) -> None:
        memory, batch.memory = batch.memory, 0
        if memory:
            self.pool.give_back(memory)
        queue = self._queue(batch)
        if queue.is_empty:
            self._active.pop(batch.place, None)
