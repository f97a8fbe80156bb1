"""Producers of a log: epochs, sequences, the last five batches, open transactions. Pure.

A batch of an idempotent producer is checked before it is written and noted afterwards. An unknown
producer, new or silent for long, may begin with any sequence; UNKNOWN_PRODUCER_ID is never sent. A
duplicate gets the answer of the first batch. Batches that the broker writes for a producer have no
sequence. Batches that were accepted elsewhere (by a leader, or before the start) are only noted.
Source: KIP-98, KIP-185, KIP-360; Kafka's rules for sequences.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from operator import itemgetter
from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_rows import ENTRY, TOGETHER, ProducerRows
from trio_kafka.log.verification import Verifications
from trio_kafka.records.header import NO_EPOCH, NO_SEQUENCE, BatchHeader
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_LAST_SEQUENCE: Final = (1 << 31) - 1
_REMEMBERED: Final = 5
_EXPIRED: Final = 1000  # producers in a step: 0.5 ms if all are forgotten
NO_OFFSET: Final = -1
LATE_MS: Final = 300_000  # after the longest timeout, until a transaction is called late


class ProducedBatch(NamedTuple):
    """A batch of a producer, kept to recognize its duplicates."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@define(kw_only=True)
class Producer:
    """State of one producer id.

    transaction_first_offset: start of its open transaction, if there is one. row: see
        `ProducerRows`.
    """

    producer_id: int
    epoch: int = NO_EPOCH
    batches: list[ProducedBatch] = field(factory=list)
    timestamp: int = -1
    coordinator_epoch: int = -1
    transaction_first_offset: int | None = None
    row: int = field(default=-1, init=False, eq=False, repr=False)

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def pack_into(self, content: bytearray, position: int) -> None:
        """Write its entry of a snapshot."""
        first = self.transaction_first_offset
        if self.batches:
            _, last_sequence, last_offset, offset_delta, _ = self.batches[-1]
        else:
            last_sequence, last_offset, offset_delta = NO_SEQUENCE, NO_OFFSET, 0
        ENTRY.pack_into(
            content,
            position,
            self.producer_id,
            self.epoch,
            last_sequence,
            last_offset,
            offset_delta,
            self.timestamp,
            self.coordinator_epoch,
            NO_OFFSET if first is None else first,
        )


@define(eq=False)
class ProducerState:
    """Producers of one partition, by id.

    loads_at: end offset at which a load finds these producers without reading a batch, from a
        snapshot or at the start of the log. None: not known to be durable.
    verifications: of batches that a transaction may begin with.
    """

    loads_at: int | None = field(default=None, init=False)
    verifications: Verifications = field(factory=Verifications, init=False)
    _producers: dict[int, Producer] = field(factory=dict, init=False)
    # First offsets of open transactions, ascending unless `_sorts`.
    _open: OrderedDict[int, int] = field(factory=OrderedDict, init=False)
    _sorts: bool = field(default=False, init=False)
    # First offset and marker's offset of transactions that ended above the high watermark, both
    # ascending. One that began later and ended earlier than another is left out.
    _ended: deque[tuple[int, int]] = field(factory=deque, init=False)
    _rows: ProducerRows | None = field(default=None, init=False)
    _changed: dict[int, None] = field(factory=dict, init=False)  # ids whose rows are not current

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[Producer]:
        return iter(self._producers.values())

    def get(self, producer_id: int) -> Producer | None:
        return self._producers.get(producer_id)

    def has_open_transaction(self, producer_id: int, epoch: int) -> bool:
        """Return whether a producer has an open transaction of this epoch."""
        producer = self._producers.get(producer_id)
        return (
            producer is not None
            and producer.transaction_first_offset is not None
            and producer.epoch == epoch
        )

    def repeated_by(self, header: BatchHeader) -> ProducedBatch | None:
        """Return the batch that a batch repeats, if it is one of the last five."""
        producer = self._producers.get(header.producer_id)
        if producer is not None and header.producer_epoch == producer.epoch:
            sequence, delta = header.base_sequence, header.last_offset_delta
            for batch in producer.batches:
                if batch.first_sequence == sequence and batch.offset_delta == delta:
                    return batch
        return None

    def check(self, header: BatchHeader) -> ProducedBatch | None:
        """Check a batch of data before its append. Return the batch that it repeats, or None.

        Only the epoch of a batch without a sequence is checked: the broker has written it.
        Raises KafkaError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        producer_id, epoch = header.producer_id, header.producer_epoch
        sequence, delta = header.base_sequence, header.last_offset_delta
        producer = self._producers.get(producer_id)
        latest = NO_EPOCH if producer is None else producer.epoch
        if epoch < latest:
            message = f"epoch {epoch} of producer {producer_id}, its latest is {latest}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
        if producer is None:
            return None
        if sequence != NO_SEQUENCE:
            if epoch == producer.epoch:
                for batch in producer.batches:
                    if batch.first_sequence == sequence and batch.offset_delta == delta:
                        return batch
                want = (producer.last_sequence + 1) & _LAST_SEQUENCE
            else:
                want = 0
            if sequence != want and producer.epoch != NO_EPOCH:
                message = (
                    f"sequence {sequence} of producer {producer_id}, epoch {epoch}, want {want}"
                )
                raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
        if producer.transaction_first_offset is not None and not header.is_transactional:
            message = f"a plain batch of producer {producer_id} within its transaction"
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)
        return None

    def note(self, header: BatchHeader) -> None:
        """Note a batch of data that was appended."""
        producer = self._producer_of(header)
        sequence, delta = header.base_sequence, header.last_offset_delta
        first_offset = header.base_offset
        batches = producer.batches
        batches.append(
            ProducedBatch(
                sequence,
                sequence if sequence == NO_SEQUENCE else (sequence + delta) & _LAST_SEQUENCE,
                first_offset + delta,
                delta,
                header.max_timestamp,
            )
        )
        if len(batches) > _REMEMBERED:
            del batches[0]
        if header.is_transactional:
            self.verifications.end(producer.producer_id)
            if producer.transaction_first_offset is None:
                producer.transaction_first_offset = first_offset
                self._open[producer.producer_id] = first_offset

    def note_marker(self, header: BatchHeader, coordinator_epoch: int) -> int | None:
        """Note a marker that was appended. Return where the transaction that it ends began.

        None: no transaction was open.
        """
        producer = self._producer_of(header)
        producer.coordinator_epoch = coordinator_epoch
        producer.transaction_first_offset = None
        self.verifications.end(producer.producer_id)
        first = self._open.pop(producer.producer_id, None)
        if first is not None:
            ended = self._ended
            while ended and ended[-1][0] >= first:
                ended.pop()
            ended.append((first, header.base_offset))
        return first

    def _producer_of(self, header: BatchHeader) -> Producer:
        """Return the producer of an appended batch. Another epoch restarts its sequences."""
        producer_id = header.producer_id
        if len(self._changed) >= TOGETHER:
            self._pack()
        self._changed[producer_id] = None
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._producers[producer_id] = Producer(producer_id=producer_id)
        if producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.timestamp = header.max_timestamp
        return producer

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the first offset of a transaction that is open, or ended above the high watermark.

        Without such a transaction: the high watermark. O(1): every Fetch asks.
        """
        ended = self._ended
        if ended:
            self.forget_ended(high_watermark)
        if not self._open and not ended:
            return high_watermark
        stable = min(high_watermark, self.first_open_offset(high_watermark))
        return min(stable, ended[0][0]) if ended else stable

    def forget_ended(self, high_watermark: int) -> None:
        """Forget transactions whose marker is committed."""
        ended = self._ended
        while ended and ended[0][1] < high_watermark:
            ended.popleft()

    def first_open_offset(self, default: int) -> int:
        """Return the first offset of the oldest open transaction. O(1)."""
        if self._sorts:
            self._open = OrderedDict(sorted(self._open.items(), key=itemgetter(1)))
            self._sorts = False
        return next(iter(self._open.values()), default)

    @property
    def has_open(self) -> bool:
        """True if a transaction is open."""
        return bool(self._open)

    def open_transactions(self) -> Iterator[Producer]:
        """Yield the producers with an open transaction, the oldest transaction first."""
        self.first_open_offset(NO_OFFSET)
        return (self._producers[producer_id] for producer_id in self._open)

    def has_late_transaction(self, now_ms: int, longest_timeout_ms: int) -> bool:
        """Return whether the oldest open transaction should have been ended long ago.

        longest_timeout_ms: `transaction.max.timeout.ms`. Kafka counts from the last batch of its
        producer, and allows for five minutes more.
        """
        oldest = next(self.open_transactions(), None)
        return oldest is not None and now_ms - oldest.timestamp > longest_timeout_ms + LATE_MS

    def restore(self, producer: Producer) -> None:
        """Add a producer from a snapshot."""
        if len(self._changed) >= TOGETHER:
            self._pack()
        previous = self._producers.get(producer.producer_id)
        if previous is not None:
            self._forget(previous)
        self._changed[producer.producer_id] = None
        self._producers[producer.producer_id] = producer
        self._open.pop(producer.producer_id, None)
        if producer.transaction_first_offset is not None:
            self._open[producer.producer_id] = producer.transaction_first_offset
            self._sorts = True

    def expire(self, before: int) -> Steps[None]:
        """Forget producers silent since `before`, except those with an open transaction.

        Batches may be noted between two steps.
        """
        self.verifications.expire(before)
        for chunk in in_slices(tuple(self._producers.values()), _EXPIRED):
            for producer in chunk:
                if producer.timestamp > before or producer.transaction_first_offset is not None:
                    continue
                if self._producers.get(producer.producer_id) is producer:
                    self._forget(producer)
            yield

    def _forget(self, producer: Producer) -> None:
        del self._producers[producer.producer_id]
        self._changed.pop(producer.producer_id, None)
        if self._rows is not None:
            self._rows.remove(producer)

    def rows(self) -> bytearray:
        """Return the entries of a snapshot, one for each producer; valid until the next change.

        Packs the few rows that are not current.
        """
        return self._pack().content

    def _pack(self) -> ProducerRows:
        if self._rows is None:
            self._rows = ProducerRows()
        for producer_id in self._changed:
            self._rows.put(self._producers[producer_id])
        self._changed.clear()
        return self._rows

    def clear(self) -> None:
        """Forget all producers."""
        self.loads_at = None
        self._producers.clear()
        self._open.clear()
        self._ended.clear()
        self.verifications.clear()
        self._rows = None
        self._changed.clear()
